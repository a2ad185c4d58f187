#![doc = include_str!("../README.md")]

mod dynamodb;
mod error;
mod server;
mod sqs;

use std::net::IpAddr;

use tokio::sync::watch;

pub use error::{EngineError, TemplateError};
pub use server::listen;

use dynamodb::Tables;
use server::{BoundPort, Server};

/// The ports to listen on; 0 lets the system choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ports {
    /// The port of DynamoDB and DynamoDB Streams.
    pub dynamodb: u16,
    /// The port of SQS.
    pub sqs: u16,
}

/// A running pair: DynamoDB with Streams, and SQS.
///
/// Dropping it stops both without waiting; [`Engine::stop`] waits.
#[derive(Debug)]
pub struct Engine {
    dynamodb: Server,
    sqs: Server,
    writes: watch::Receiver<u64>,
}

impl Engine {
    /// Starts an empty pair on 127.0.0.1.
    ///
    /// # Errors
    ///
    /// Fails if a port is taken, or a listener, thread or database cannot be created.
    pub async fn start(ports: Ports) -> Result<Engine, EngineError> {
        Self::start_at(ports, &[]).await
    }

    /// Starts an empty pair on 127.0.0.1 and, with the same ports, on other addresses of this machine, where containers
    /// reach it.
    ///
    /// # Errors
    ///
    /// Fails as [`Engine::start`] does, and if an address is not this machine's or is unspecified (0.0.0.0, ::).
    pub async fn start_at(ports: Ports, also: &[IpAddr]) -> Result<Engine, EngineError> {
        let dynamodb = BoundPort::listen(ports.dynamodb, also)?;
        let sqs = BoundPort::listen(ports.sqs, also)?;
        let tables = Tables::empty()?;
        let writes = tables.writes();
        Ok(Engine {
            dynamodb: Server::start("dynamodb", dynamodb, |port| dynamodb::run(port, tables)).await?,
            sqs: Server::start("sqs", sqs, sqs::run).await?,
            writes,
        })
    }

    /// The URL of DynamoDB and DynamoDB Streams: `http://127.0.0.1:PORT`.
    pub fn dynamodb_url(&self) -> &str {
        self.dynamodb.url()
    }

    /// The URL of SQS: `http://127.0.0.1:PORT`.
    pub fn sqs_url(&self) -> &str {
        self.sqs.url()
    }

    /// A counter that changes with every write to a table, before the writer has its answer. A stream poller in this
    /// process waits for it instead of polling.
    pub fn writes(&self) -> watch::Receiver<u64> {
        self.writes.clone()
    }

    /// Closes both ports and all connections, and waits until the threads have ended.
    pub async fn stop(self) {
        let Engine { dynamodb, sqs, writes: _ } = self;
        tokio::join!(dynamodb.stop(), sqs.stop());
    }
}
