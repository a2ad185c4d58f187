//! Why the host did not start, for the person who started it.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use engine::EngineError;

use crate::functions::StartError;
use crate::iam::UnresolvedPermission;
use crate::provision::ProvisionError;
use crate::template::{TemplateError, UnresolvedVariable};

/// Why the host did not start.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Another program listens on the port.
    #[error("port {port} is taken: stop the program that listens on it, or choose another port with --port")]
    PortTaken {
        /// The port.
        port: u16,
    },
    /// The port cannot be used for another reason.
    #[error("cannot listen on port {port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// The address for containers is not an address of this machine.
    #[error("cannot listen on {address} for containers: {source}")]
    AddressNotLocal {
        /// The address.
        address: IpAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The file with the functions' environments cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Environment {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The template cannot be read.
    #[error("template: {0}")]
    Template(#[from] TemplateError),
    /// A function's variable refers to a resource that does not exist locally.
    #[error("template: {0}")]
    UnresolvedVariable(#[from] UnresolvedVariable),
    /// A function's role refers to a resource that does not exist locally.
    #[error("template: {0}")]
    UnresolvedPermission(#[from] UnresolvedPermission),
    /// The engines did not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A table or queue could not be created.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// The table of stream checkpoints could not be created.
    #[error("cannot create the checkpoints table: {0}")]
    Checkpoints(String),
    /// A function did not start.
    #[error(transparent)]
    Function(#[from] StartError),
    /// The template has no function behind an HTTP API.
    #[error("template.yaml defines no HTTP API function")]
    NoHttpApi,
    /// The demo data could not be written.
    #[error("cannot write the demo data: {0}")]
    Demo(String),
}
