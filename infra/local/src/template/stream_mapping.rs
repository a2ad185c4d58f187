//! The event `DynamoDB`: a table's stream wakes the function.

use super::Template;
use super::error::{Problem, TemplateError};
use super::event::{Event, enabled, filters, refuse, report_batch_item_failures};
use super::node::Node;
use super::value::Reference;
use crate::mapping::Filter;

/// A table's stream, read by a function.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamMapping {
    /// The name of the event within the function.
    pub name: String,
    /// The logical id of the table.
    pub table: String,
    /// Where reading starts when there is no checkpoint.
    pub starting_position: StartingPosition,
    /// How many records one invocation gets at most.
    pub batch_size: u32,
    /// How long to wait for a batch to fill, in seconds.
    pub batching_window: u32,
    /// How many batches of one shard are worked on at once, 1 to 10.
    pub parallelization_factor: u32,
    /// Which records are delivered: those that match one, or all when there is none.
    pub filters: Vec<Filter>,
    /// Whether the answer names the record that failed.
    pub report_batch_item_failures: bool,
    /// Whether a failed batch is split in two.
    pub bisect: bool,
    /// How often a failed batch is tried again; `None` is until its records expire.
    pub maximum_retry_attempts: Option<u32>,
    /// How old a record may get, in seconds; `None` is any age.
    pub maximum_record_age: Option<u32>,
    /// The logical id of the queue that is told what was given up.
    pub on_failure: Option<String>,
}

/// Where a new stream mapping starts to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartingPosition {
    /// At the oldest record.
    TrimHorizon,
    /// After the newest record.
    Latest,
}

impl StreamMapping {
    pub(super) fn read(name: &str, properties: &Node<'_>, template: &Template) -> Result<Event, TemplateError> {
        refuse(properties, &["StartingPositionTimestamp", "TumblingWindowInSeconds"])?;
        properties.only(&[
            "BatchSize",
            "BisectBatchOnFunctionError",
            "DestinationConfig",
            "Enabled",
            "FilterCriteria",
            "FunctionResponseTypes",
            "KmsKeyArn",
            "MaximumBatchingWindowInSeconds",
            "MaximumRecordAgeInSeconds",
            "MaximumRetryAttempts",
            "MetricsConfig",
            "ParallelizationFactor",
            "StartingPosition",
            "Stream",
        ])?;
        let stream = properties.need("Stream")?;
        let table = match stream.value()?.sole_reference() {
            Some(Reference::StreamArn(table)) => table.clone(),
            _ => return Err(stream.unexpected("the StreamArn of a table of this template")),
        };
        if template.table(&table).is_none_or(|table| table.stream.is_none()) {
            return Err(stream.error(Problem::NoStream(table)));
        }
        let positions = [("TRIM_HORIZON", StartingPosition::TrimHorizon), ("LATEST", StartingPosition::Latest)];
        let retries = properties.get("MaximumRetryAttempts")?;
        let age = properties.get("MaximumRecordAgeInSeconds")?;
        let mapping = Self {
            name: name.to_owned(),
            table,
            starting_position: properties.need("StartingPosition")?.choice(&positions)?,
            batch_size: properties.number_or("BatchSize", 100, 1..=10_000)?,
            batching_window: properties.number_or("MaximumBatchingWindowInSeconds", 0, 0..=300)?,
            parallelization_factor: properties.number_or("ParallelizationFactor", 1, 1..=10)?,
            filters: filters(properties)?,
            report_batch_item_failures: report_batch_item_failures(properties)?,
            bisect: properties.flag_or("BisectBatchOnFunctionError", false)?,
            maximum_retry_attempts: retries.map_or(Ok(None), |node| node.limit(0..=10_000))?,
            maximum_record_age: age.map_or(Ok(None), |node| node.limit(60..=604_800))?,
            on_failure: on_failure(properties)?,
        };
        enabled(properties, Event::Stream(mapping))
    }
}

fn on_failure(properties: &Node<'_>) -> Result<Option<String>, TemplateError> {
    let Some(config) = properties.get("DestinationConfig")? else {
        return Ok(None);
    };
    config.only(&["OnFailure"])?;
    let destination = config.need("OnFailure")?;
    destination.only(&["Destination", "Type"])?;
    if let Some(kind) = destination.get("Type")? {
        kind.choice(&[("SQS", ())])?;
    }
    destination.need("Destination")?.queue_arn().map(Some)
}
