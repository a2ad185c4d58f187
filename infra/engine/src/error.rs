//! Errors of starting an engine.

use std::io;

use dynoxide::DynoxideError;

/// The engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Another process listens on the requested port.
    #[error("port {port} is taken")]
    PortTaken {
        /// The requested port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// Listening on the port failed for another reason.
    #[error("cannot listen on port {port}: {source}")]
    Listen {
        /// The requested port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// The engine's thread or its runtime could not be created.
    #[error("cannot start the thread of engine {name}")]
    Thread {
        /// `dynamodb` or `sqs`.
        name: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The template of all databases, which is created once for each process, could not be created.
    #[error("cannot create the template database")]
    Template(#[source] &'static TemplateError),
    /// The template could not be copied into a new database.
    #[error("cannot create a database in memory")]
    Database(#[source] DynoxideError),
}

/// The template database could not be created.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// dynoxide could not create its schema.
    #[error("cannot create dynoxide's schema")]
    Tables(#[from] DynoxideError),
    /// The indexes and the trigger could not be added.
    #[error("cannot add the indexes and the trigger")]
    Additions(#[from] rusqlite::Error),
}
