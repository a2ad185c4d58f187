#![doc = include_str!("../README.md")]

mod dynamodb;
mod error;
mod served;
mod sqs;

use std::net::IpAddr;

use tokio::sync::watch;

pub use error::{EngineError, TemplateError};
pub use served::listen;

use dynamodb::Tables;
use served::{Port, Served};

/// Which ports to listen on; 0 lets the system choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ports {
    /// For DynamoDB and its streams.
    pub dynamodb: u16,
    /// For SQS.
    pub sqs: u16,
}

/// A running pair: DynamoDB with Streams, and SQS.
///
/// Dropping it stops it, too, without waiting until it has.
#[derive(Debug)]
pub struct Engine {
    dynamodb: Served,
    sqs: Served,
    writes: watch::Receiver<u64>,
}

impl Engine {
    /// Starts an empty pair on 127.0.0.1.
    ///
    /// # Errors
    /// When a port is taken, or the process has no room for one more listener, thread or database.
    pub async fn start(ports: Ports) -> Result<Engine, EngineError> {
        Self::start_at(ports, &[]).await
    }

    /// Starts an empty pair on 127.0.0.1 and, with the same ports, on other addresses of this machine: where its containers
    /// reach it.
    ///
    /// # Errors
    /// Those of [`Engine::start`]; and when an address is not this machine's, or stands for all of them.
    pub async fn start_at(ports: Ports, also: &[IpAddr]) -> Result<Engine, EngineError> {
        let dynamodb = Port::listen(ports.dynamodb, also)?;
        let sqs = Port::listen(ports.sqs, also)?;
        let tables = Tables::empty()?;
        let writes = tables.writes();
        Ok(Engine {
            dynamodb: Served::start("dynamodb", dynamodb, |port| dynamodb::run(port, tables)).await?,
            sqs: Served::start("sqs", sqs, sqs::run).await?,
            writes,
        })
    }

    /// Where DynamoDB and DynamoDB Streams answer: `http://127.0.0.1:PORT`.
    pub fn dynamodb_url(&self) -> &str {
        self.dynamodb.url()
    }

    /// Where SQS answers: `http://127.0.0.1:PORT`.
    pub fn sqs_url(&self) -> &str {
        self.sqs.url()
    }

    /// Changes after every write to a table, before its caller has the answer: a stream poller in this process
    /// waits for it instead of asking again and again.
    pub fn writes(&self) -> watch::Receiver<u64> {
        self.writes.clone()
    }

    /// Closes both ports and every connection, and returns when the threads have ended.
    pub async fn stop(self) {
        let Engine { dynamodb, sqs, writes: _ } = self;
        tokio::join!(dynamodb.stop(), sqs.stop());
    }
}
