#![doc = include_str!("../README.md")]

#[doc(no_inline)]
pub use belfry_core::*;
/// The SDK crates whose types appear in signatures.
pub use {aws_lambda_events, aws_sdk_dynamodb, aws_sdk_sqs, aws_types, lambda_runtime};

mod belfry;
pub mod clients;
mod config;
pub mod consumer;
pub mod dead_letters;
mod dynamo;
mod error;
mod execute;
pub mod lambda;
pub mod log;
pub mod metrics;
pub mod outbox;
mod relay;
mod saga_runner;
mod sweep;
pub mod tables;

pub use belfry::{Belfry, Builder, Destination, Routes};
pub use config::{Config, Queue};
pub use consumer::{Consumer, Delivery, Effect, Handler, Process, Processed, Processor, Received, consumer, process};
pub use dead_letters::{dead_letters, recorder, redriver};
pub use dynamo::{Outcome, Query, QueryPage, Raced, partition};
pub use error::{Error, causes};
pub use execute::{CommitOutcome, Executed, KeyRecord, Mark, Tx, WorkError};
pub use metrics::Metrics;
pub use outbox::{OutboundMessage, SendError};
pub use relay::{Relay, relay};
pub use saga_runner::{Saga, saga};
pub use sweep::{Sweeper, Swept, sweeper};
pub use tables::Tables;

/// One page of a list, and where the next one starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}
