//! One entry of a function's `Events`, or an `AWS::Lambda::EventSourceMapping`: a table's stream, a queue or the clock
//! wakes the function.
//!
//! Every property here changes what is delivered, so a misspelt one is refused; limits and defaults are Lambda's.

use super::error::TemplateError;
use super::typed::{Flag, Limit, Text, Whole, only, properties, queue_arn, stream_arn, typed};
use super::value::{Reference, Value};
use super::{Resource, Template};
use crate::mapping::{Filter, Schedule};
use serde::Deserialize;
use std::fmt::Display;
use yaml_serde::{Mapping, Value as Yaml};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StartingPosition {
    /// At the oldest record.
    TrimHorizon,
    /// After the newest record.
    Latest,
}

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

/// A time at which a function runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleMapping {
    /// The name of the event within the function.
    pub name: String,
    /// When.
    pub schedule: Schedule,
    /// What the function is handed, instead of the event that AWS makes.
    pub input: Option<serde_json::Value>,
}

/// One entry of `Events`.
pub(super) enum Event {
    Stream(StreamMapping),
    Queue(QueueMapping),
    Schedule(ScheduleMapping),
}

properties! {
    struct Entry { r#type: Kind, properties: Yaml }

    struct StreamProperties {
        batch_size: Option<Whole<1, 10_000>>,
        bisect_batch_on_function_error: Option<Flag>,
        destination_config: Option<DestinationConfig>,
        enabled: Option<Flag>,
        filter_criteria: Option<FilterCriteria>,
        function_response_types: Option<Vec<ReportBatchItemFailures>>,
        maximum_batching_window_in_seconds: Option<Whole<0, 300>>,
        maximum_record_age_in_seconds: Option<Limit<60, 604_800>>,
        maximum_retry_attempts: Option<Limit<0, 10_000>>,
        parallelization_factor: Option<Whole<1, 10>>,
        starting_position: StartingPosition,
        #[serde(deserialize_with = "stream_arn")]
        stream: String,
    }
    ignored { KmsKeyArn MetricsConfig }

    struct QueueProperties {
        batch_size: Option<Whole<1, 10_000>>,
        enabled: Option<Flag>,
        filter_criteria: Option<FilterCriteria>,
        function_response_types: Option<Vec<ReportBatchItemFailures>>,
        maximum_batching_window_in_seconds: Option<Whole<0, 300>>,
        /// Called `EventSourceArn` where the mapping is a resource of its own.
        #[serde(alias = "EventSourceArn", deserialize_with = "queue_arn")]
        queue: String,
        scaling_config: Option<ScalingConfig>,
    }
    ignored { KmsKeyArn MetricsConfig }

    /// EventBridge Scheduler.
    struct SchedulerProperties {
        input: Option<Text>,
        schedule_expression: Text,
        state: Option<State>,
        schedule_expression_timezone: Option<Utc>,
    }
    ignored {
        DeadLetterConfig Description FlexibleTimeWindow GroupName KmsKeyArn Name OmitName PermissionsBoundary
        RetryPolicy RoleArn
    }

    struct DestinationConfig { on_failure: OnFailure }

    struct OnFailure {
        #[serde(deserialize_with = "queue_arn")]
        destination: String,
        r#type: Option<Sqs>,
    }

    struct FilterCriteria { filters: Vec<FilterEntry> }

    struct FilterEntry { pattern: Text }

    struct ScalingConfig { maximum_concurrency: Whole<2, 1000> }
}

only! { Sqs = "SQS", ReportBatchItemFailures = "ReportBatchItemFailures", Utc = "UTC" }

#[derive(Deserialize)]
enum Kind {
    DynamoDB,
    #[serde(rename = "SQS")]
    Sqs,
    ScheduleV2,
}

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum State {
    Enabled,
    Disabled,
}

impl Event {
    /// `None` where it is switched off. `timeout` is the function's; `template` has to hold the tables and queues already.
    pub(super) fn read(
        name: &str,
        path: &str,
        event: &Yaml,
        timeout: u32,
        template: &Template,
    ) -> Result<Option<Self>, TemplateError> {
        let Entry { r#type, properties } = typed(path, event)?;
        let path = format!("{path}.Properties");
        let (enabled, event) = match r#type {
            Kind::DynamoDB => {
                let properties: StreamProperties = typed(&path, &properties)?;
                (is_on(properties.enabled), Self::Stream(StreamMapping::new(name, &path, properties, template)?))
            }
            Kind::Sqs => {
                let properties: QueueProperties = typed(&path, &properties)?;
                let enabled = is_on(properties.enabled);
                (enabled, Self::Queue(QueueMapping::new(name, &path, properties, timeout, template)?))
            }
            Kind::ScheduleV2 => {
                let properties: SchedulerProperties = typed(&path, &properties)?;
                let enabled = properties.state != Some(State::Disabled);
                (enabled, Self::Schedule(ScheduleMapping::new(name, &path, properties)?))
            }
        };
        Ok(enabled.then_some(event))
    }
}

impl ScheduleMapping {
    fn new(name: &str, path: &str, properties: SchedulerProperties) -> Result<Self, TemplateError> {
        let wrong = |property: &str, problem: &dyn Display| TemplateError::at(format!("{path}.{property}"), problem);
        let schedule = Schedule::parse(&properties.schedule_expression.0);
        let input = properties.input.map(|Text(input)| serde_json::from_str(&input)).transpose();
        Ok(Self {
            name: name.to_owned(),
            schedule: schedule.map_err(|error| wrong("ScheduleExpression", &error))?,
            input: input.map_err(|error| wrong("Input", &format!("must be JSON: {error}")))?,
        })
    }
}

impl StreamMapping {
    fn new(name: &str, path: &str, properties: StreamProperties, template: &Template) -> Result<Self, TemplateError> {
        let table = properties.stream;
        if template.table(&table).is_none_or(|table| table.stream.is_none()) {
            let problem = format!("{table} has no stream: its StreamSpecification is missing");
            return Err(TemplateError::at(format!("{path}.Stream"), problem));
        }
        Ok(Self {
            name: name.to_owned(),
            table,
            starting_position: properties.starting_position,
            batch_size: properties.batch_size.map_or(100, |it| it.0),
            batching_window: properties.maximum_batching_window_in_seconds.map_or(0, |it| it.0),
            parallelization_factor: properties.parallelization_factor.map_or(1, |it| it.0),
            filters: filters(path, properties.filter_criteria)?,
            report_batch_item_failures: reports(properties.function_response_types.as_deref()),
            bisect: properties.bisect_batch_on_function_error.is_some_and(|it| it.0),
            maximum_retry_attempts: properties.maximum_retry_attempts.and_then(|it| it.0),
            maximum_record_age: properties.maximum_record_age_in_seconds.and_then(|it| it.0),
            on_failure: properties.destination_config.map(|config| config.on_failure.destination),
        })
    }
}

impl QueueMapping {
    /// An `AWS::Lambda::EventSourceMapping` of a queue, and the logical id of its function; `None` where it is switched
    /// off. `template` has to hold the queues and functions already.
    pub(super) fn read(resource: &Resource, template: &Template) -> Result<(String, Option<Self>), TemplateError> {
        let path = resource.properties_path();
        let mut properties: Mapping = resource.typed()?;
        let name = properties.remove("FunctionName").and_then(|name| Value::read(&name)).unwrap_or_default();
        let function = match name.sole_reference() {
            Some(Reference::Other { resource, attribute: None }) => template.function(resource),
            _ => None,
        };
        let problem = || format!("must refer to a function of this template (got \"{name}\")");
        let function = function.ok_or_else(|| resource.wrong("FunctionName", problem()))?;
        let properties: QueueProperties = typed(&path, &properties.into())?;
        let enabled = is_on(properties.enabled);
        let mapping = Self::new(&resource.logical_id, &path, properties, function.timeout, template)?;
        Ok((function.logical_id.clone(), enabled.then_some(mapping)))
    }

    fn new(
        name: &str,
        path: &str,
        properties: QueueProperties,
        timeout: u32,
        template: &Template,
    ) -> Result<Self, TemplateError> {
        let queue = properties.queue;
        // Messages would come again while they are still worked on; Lambda refuses such a mapping.
        let visibility = template.queue(&queue).map(|queue| queue.visibility_timeout);
        if let Some(visibility) = visibility.filter(|visibility| *visibility < timeout) {
            let problem = format!(
                "VisibilityTimeout of {queue} must not be below the function's Timeout ({visibility} s and {timeout} s)"
            );
            return Err(TemplateError::at(path, problem));
        }
        let batch_size = properties.batch_size.map_or(10, |it| it.0);
        let batching_window = properties.maximum_batching_window_in_seconds.map_or(0, |it| it.0);
        // One receive call gives ten messages; only a window lets Lambda gather more.
        if batching_window == 0 && batch_size > 10 {
            let problem = format!("must be at most 10 without MaximumBatchingWindowInSeconds (got {batch_size})");
            return Err(TemplateError::at(format!("{path}.BatchSize"), problem));
        }
        Ok(Self {
            name: name.to_owned(),
            queue,
            batch_size,
            batching_window,
            report_batch_item_failures: reports(properties.function_response_types.as_deref()),
            maximum_concurrency: properties.scaling_config.map(|scaling| scaling.maximum_concurrency.0),
            filters: filters(path, properties.filter_criteria)?,
        })
    }
}

fn is_on(enabled: Option<Flag>) -> bool {
    enabled.is_none_or(|flag| flag.0)
}

fn filters(path: &str, criteria: Option<FilterCriteria>) -> Result<Vec<Filter>, TemplateError> {
    let filters = criteria.map(|criteria| criteria.filters).unwrap_or_default().into_iter().enumerate();
    let filters = filters.map(|(at, filter)| {
        let path = || format!("{path}.FilterCriteria.Filters[{at}].Pattern");
        Filter::parse(&filter.pattern.0).map_err(|error| TemplateError::at(path(), error))
    });
    filters.collect()
}

fn reports(types: Option<&[ReportBatchItemFailures]>) -> bool {
    types.is_some_and(|types| !types.is_empty())
}
