//! The event `SQS`: the messages of a queue wake the function.

use super::Template;
use super::error::{Problem, TemplateError};
use super::event::{Event, enabled, filters, refuse, report_batch_item_failures};
use super::node::Node;
use crate::mapping::Filter;

/// A queue, consumed by a function.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueMapping {
    /// The name of the event within the function.
    pub name: String,
    /// The logical id of the queue.
    pub queue: String,
    /// How many messages one invocation gets at most.
    pub batch_size: u32,
    /// How long to wait for a batch to fill, in seconds.
    pub batching_window: u32,
    /// Whether the answer names the messages that failed.
    pub report_batch_item_failures: bool,
    /// How many invocations run at once, 2 to 1000; `None` is no limit of its own.
    pub maximum_concurrency: Option<u32>,
    /// Which messages are delivered, as for a stream; Lambda deletes the others from the queue.
    pub filters: Vec<Filter>,
}

impl QueueMapping {
    pub(super) fn read(
        name: &str,
        properties: &Node<'_>,
        timeout: u32,
        template: &Template,
    ) -> Result<Event, TemplateError> {
        refuse(properties, &["ProvisionedPollerConfig"])?;
        properties.only(&[
            "BatchSize",
            "Enabled",
            "FilterCriteria",
            "FunctionResponseTypes",
            "KmsKeyArn",
            "MaximumBatchingWindowInSeconds",
            "MetricsConfig",
            "Queue",
            "ScalingConfig",
        ])?;
        let source = properties.need("Queue")?;
        let queue = source.queue_arn()?;
        let visibility = template.queue(&queue).map(|queue| queue.visibility_timeout);
        if let Some(visibility) = visibility.filter(|visibility| *visibility < timeout) {
            return Err(source.error(Problem::VisibilityBelowTimeout { queue, visibility, timeout }));
        }
        let maximum_concurrency = match properties.get("ScalingConfig")? {
            Some(scaling) => {
                scaling.only(&["MaximumConcurrency"])?;
                Some(scaling.need("MaximumConcurrency")?.number(2..=1000)?)
            }
            None => None,
        };
        let batching_window = properties.number_or("MaximumBatchingWindowInSeconds", 0, 0..=300)?;
        // One receive call gives ten messages; only a window lets Lambda gather more.
        let largest = if batching_window == 0 { 10 } else { 10_000 };
        let mapping = Self {
            name: name.to_owned(),
            queue,
            batch_size: properties.number_or("BatchSize", 10, 1..=largest)?,
            batching_window,
            report_batch_item_failures: report_batch_item_failures(properties)?,
            maximum_concurrency,
            filters: filters(properties)?,
        };
        enabled(properties, Event::Queue(mapping))
    }
}
