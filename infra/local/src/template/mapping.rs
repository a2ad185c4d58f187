//! One entry of a function's `Events`, or an `AWS::Lambda::EventSourceMapping`: a table's stream, a queue or a schedule
//! that invokes the function.
//!
//! Every property changes what is delivered, so a misspelt one is refused. Limits and defaults are Lambda's. What the
//! deployed template does not use is not supported.

use super::error::TemplateError;
use super::typed::{Flag, Text, Whole, only, properties, queue_arn, stream_arn, typed};
use super::value::{Reference, Value};
use super::{Resource, Template};
use crate::mapping::Filter;
use serde::Deserialize;
use std::fmt::Display;
use std::time::Duration;
use yaml_serde::{Mapping, Value as Yaml};

/// A table's stream that a function reads.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamMapping {
    /// The name of the event within the function.
    pub name: String,
    pub table: String,
    pub batch_size: u32,
    /// How many batches of one shard are delivered concurrently.
    pub parallelization_factor: u32,
    /// A record is delivered if any filter matches, or if there are none.
    pub filters: Vec<Filter>,
    pub report_batch_item_failures: bool,
    /// Whether a failed batch is split in two.
    pub bisect: bool,
    /// `None`: until the records expire.
    pub maximum_retry_attempts: Option<u32>,
    /// In seconds.
    pub maximum_record_age: Option<u32>,
    /// The queue that receives the position of a batch that was given up.
    pub on_failure: Option<String>,
}

/// A queue that a function consumes.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueMapping {
    pub queue: String,
    pub batch_size: u32,
    pub report_batch_item_failures: bool,
    pub maximum_concurrency: Option<u32>,
}

/// A schedule that invokes a function.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleMapping {
    pub every: Duration,
    pub input: serde_json::Value,
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
        maximum_record_age_in_seconds: Option<Whole<60, 604_800>>,
        maximum_retry_attempts: Option<Whole<0, 10_000>>,
        parallelization_factor: Option<Whole<1, 10>>,
        starting_position: TrimHorizon,
        #[serde(deserialize_with = "stream_arn")]
        stream: String,
    }
    ignored { KmsKeyArn MetricsConfig }

    struct QueueProperties {
        batch_size: Option<Whole<1, 10>>,
        enabled: Option<Flag>,
        function_response_types: Option<Vec<ReportBatchItemFailures>>,
        /// Called `EventSourceArn` in a resource of its own.
        #[serde(alias = "EventSourceArn", deserialize_with = "queue_arn")]
        queue: String,
        scaling_config: Option<ScalingConfig>,
    }
    ignored { KmsKeyArn MetricsConfig }

    /// EventBridge Scheduler.
    struct SchedulerProperties { input: Text, schedule_expression: Text }
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

only! { Sqs = "SQS", ReportBatchItemFailures = "ReportBatchItemFailures", TrimHorizon = "TRIM_HORIZON" }

#[derive(Deserialize)]
enum Kind {
    DynamoDB,
    #[serde(rename = "SQS")]
    Sqs,
    ScheduleV2,
}

impl Event {
    /// `None` if it is disabled. `timeout` is the function's. `template` must already hold the tables and queues.
    pub(super) fn read(
        name: &str,
        path: &str,
        event: &Yaml,
        timeout: u32,
        template: &Template,
    ) -> Result<Option<Self>, TemplateError> {
        let Entry { r#type, properties } = typed(path, event)?;
        let path = format!("{path}.Properties");
        Ok(match r#type {
            Kind::DynamoDB => StreamMapping::new(name, &path, typed(&path, &properties)?, template)?.map(Self::Stream),
            Kind::Sqs => QueueMapping::new(&path, typed(&path, &properties)?, timeout, template)?.map(Self::Queue),
            Kind::ScheduleV2 => Some(Self::Schedule(ScheduleMapping::new(&path, typed(&path, &properties)?)?)),
        })
    }
}

impl ScheduleMapping {
    fn new(path: &str, properties: SchedulerProperties) -> Result<Self, TemplateError> {
        let wrong = |property: &str, problem: &dyn Display| TemplateError::at(format!("{path}.{property}"), problem);
        let every = rate(&properties.schedule_expression.0).map_err(|error| wrong("ScheduleExpression", &error))?;
        let input = serde_json::from_str(&properties.input.0);
        Ok(Self { every, input: input.map_err(|error| wrong("Input", &format!("must be JSON: {error}")))? })
    }
}

/// Reads `rate(5 minutes)`. The unit is singular for 1, as EventBridge demands.
fn rate(expression: &str) -> Result<Duration, String> {
    let rate = expression.strip_prefix("rate(").and_then(|rate| rate.strip_suffix(')'));
    let (number, unit) = rate.and_then(|rate| rate.split_once(' ')).unwrap_or_default();
    let value = number.parse().ok().filter(|value: &u32| value.to_string() == number);
    let seconds = match (value, unit) {
        (Some(1), "minute") | (Some(2..), "minutes") => 60,
        (Some(1), "hour") | (Some(2..), "hours") => 3_600,
        _ => return Err(format!("must be a rate such as rate(1 minute) or rate(2 hours) (got {expression:?})")),
    };
    Ok(Duration::from_secs(seconds) * value.unwrap_or_default())
}

impl StreamMapping {
    fn new(
        name: &str,
        path: &str,
        properties: StreamProperties,
        template: &Template,
    ) -> Result<Option<Self>, TemplateError> {
        let table = properties.stream;
        if template.table(&table).is_none_or(|table| !table.has_stream) {
            let problem = format!("{table} has no stream: its StreamSpecification is missing");
            return Err(TemplateError::at(format!("{path}.Stream"), problem));
        }
        let is_enabled = properties.enabled.is_none_or(|flag| flag.0);
        let mapping = Self {
            name: name.to_owned(),
            table,
            batch_size: properties.batch_size.map_or(100, |it| it.0),
            parallelization_factor: properties.parallelization_factor.map_or(1, |it| it.0),
            filters: filters(path, properties.filter_criteria)?,
            report_batch_item_failures: reports(properties.function_response_types.as_deref()),
            bisect: properties.bisect_batch_on_function_error.is_some_and(|it| it.0),
            maximum_retry_attempts: properties.maximum_retry_attempts.map(|it| it.0),
            maximum_record_age: properties.maximum_record_age_in_seconds.map(|it| it.0),
            on_failure: properties.destination_config.map(|config| config.on_failure.destination),
        };
        Ok(is_enabled.then_some(mapping))
    }
}

impl QueueMapping {
    /// Reads an `AWS::Lambda::EventSourceMapping` of a queue, and the logical id of its function. `None` if it is
    /// disabled. `template` must already hold the queues and functions.
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
        let mapping = Self::new(&path, typed(&path, &properties.into())?, function.timeout, template)?;
        Ok((function.logical_id.clone(), mapping))
    }

    fn new(
        path: &str,
        properties: QueueProperties,
        timeout: u32,
        template: &Template,
    ) -> Result<Option<Self>, TemplateError> {
        let queue = properties.queue;
        // Lambda refuses a mapping whose messages would become visible again while they are being processed.
        let visibility = template.queue(&queue).map(|queue| queue.visibility_timeout);
        if let Some(visibility) = visibility.filter(|visibility| *visibility < timeout) {
            let problem = format!(
                "VisibilityTimeout of {queue} must not be below the function's Timeout ({visibility} s and {timeout} s)"
            );
            return Err(TemplateError::at(path, problem));
        }
        let is_enabled = properties.enabled.is_none_or(|flag| flag.0);
        let mapping = Self {
            queue,
            batch_size: properties.batch_size.map_or(10, |it| it.0),
            report_batch_item_failures: reports(properties.function_response_types.as_deref()),
            maximum_concurrency: properties.scaling_config.map(|scaling| scaling.maximum_concurrency.0),
        };
        Ok(is_enabled.then_some(mapping))
    }
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
