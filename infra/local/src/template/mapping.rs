//! One entry of a function's `Events`, or an `AWS::Lambda::EventSourceMapping`: a table's stream, a queue or the clock
//! wakes the function.
//!
//! Every property here changes what is delivered, so a misspelt one is refused; limits and defaults are Lambda's.

use super::error::TemplateError;
use super::typed::{Flag, Ignored, Limit, QueueArn, StreamArn, Text, Whole, typed};
use super::value::{Reference, Value};
use super::{Resource, Template};
use crate::mapping::{Filter, Schedule};
use serde::Deserialize;
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

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Entry {
    r#type: Kind,
    properties: Yaml,
}

#[derive(Deserialize)]
enum Kind {
    DynamoDB,
    #[serde(rename = "SQS")]
    Sqs,
    Schedule,
    ScheduleV2,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct StreamProperties {
    batch_size: Option<Whole<1, 10_000>>,
    bisect_batch_on_function_error: Option<Flag>,
    destination_config: Option<DestinationConfig>,
    enabled: Option<Flag>,
    filter_criteria: Option<FilterCriteria>,
    function_response_types: Option<Vec<ResponseType>>,
    maximum_batching_window_in_seconds: Option<Whole<0, 300>>,
    maximum_record_age_in_seconds: Option<Limit<60, 604_800>>,
    maximum_retry_attempts: Option<Limit<0, 10_000>>,
    parallelization_factor: Option<Whole<1, 10>>,
    starting_position: StartingPosition,
    stream: StreamArn,
    _kms_key_arn: Ignored,
    _metrics_config: Ignored,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct QueueProperties {
    batch_size: Option<Whole<1, 10_000>>,
    enabled: Option<Flag>,
    filter_criteria: Option<FilterCriteria>,
    function_response_types: Option<Vec<ResponseType>>,
    maximum_batching_window_in_seconds: Option<Whole<0, 300>>,
    /// Called `EventSourceArn` where the mapping is a resource of its own.
    #[serde(alias = "EventSourceArn")]
    queue: QueueArn,
    scaling_config: Option<ScalingConfig>,
    _kms_key_arn: Ignored,
    _metrics_config: Ignored,
}

/// An EventBridge rule.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct RuleProperties {
    enabled: Option<Flag>,
    input: Option<Input>,
    schedule: Rate,
    state: Option<State>,
    _dead_letter_config: Ignored,
    _description: Ignored,
    _name: Ignored,
    _retry_policy: Ignored,
    _role_arn: Ignored,
}

/// EventBridge Scheduler.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct SchedulerProperties {
    input: Option<Input>,
    schedule_expression: Rate,
    state: Option<State>,
    _dead_letter_config: Ignored,
    _description: Ignored,
    _flexible_time_window: Ignored,
    _group_name: Ignored,
    _kms_key_arn: Ignored,
    _name: Ignored,
    _omit_name: Ignored,
    _permissions_boundary: Ignored,
    _retry_policy: Ignored,
    _role_arn: Ignored,
    _schedule_expression_timezone: Option<Utc>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct DestinationConfig {
    on_failure: OnFailure,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct OnFailure {
    destination: QueueArn,
    _type: Option<DestinationType>,
}

#[derive(Deserialize)]
enum DestinationType {
    #[serde(rename = "SQS")]
    Sqs,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct FilterCriteria {
    filters: Vec<FilterEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct FilterEntry {
    pattern: Pattern,
}

#[derive(Deserialize)]
#[serde(try_from = "Text")]
struct Pattern(Filter);

#[derive(Deserialize)]
enum ResponseType {
    ReportBatchItemFailures,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct ScalingConfig {
    maximum_concurrency: Whole<2, 1000>,
}

#[derive(Deserialize)]
#[serde(try_from = "Text")]
struct Input(serde_json::Value);

#[derive(Deserialize)]
#[serde(try_from = "Text")]
struct Rate(Schedule);

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum State {
    Enabled,
    Disabled,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Utc {
    Utc,
}

impl TryFrom<Text> for Pattern {
    type Error = crate::mapping::FilterError;

    fn try_from(Text(pattern): Text) -> Result<Self, Self::Error> {
        Filter::parse(&pattern).map(Self)
    }
}

impl TryFrom<Text> for Input {
    type Error = String;

    fn try_from(Text(input): Text) -> Result<Self, Self::Error> {
        serde_json::from_str(&input).map(Self).map_err(|error| format!("must be JSON: {error}"))
    }
}

impl TryFrom<Text> for Rate {
    type Error = crate::mapping::ScheduleError;

    fn try_from(Text(expression): Text) -> Result<Self, Self::Error> {
        Schedule::parse(&expression).map(Self)
    }
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
            Kind::Schedule => {
                let rule: RuleProperties = typed(&path, &properties)?;
                let enabled = is_on(rule.enabled) && rule.state != Some(State::Disabled);
                (enabled, Self::schedule(name, rule.schedule, rule.input))
            }
            Kind::ScheduleV2 => {
                let scheduler: SchedulerProperties = typed(&path, &properties)?;
                let enabled = scheduler.state != Some(State::Disabled);
                (enabled, Self::schedule(name, scheduler.schedule_expression, scheduler.input))
            }
        };
        Ok(enabled.then_some(event))
    }

    fn schedule(name: &str, Rate(schedule): Rate, input: Option<Input>) -> Self {
        Self::Schedule(ScheduleMapping { name: name.to_owned(), schedule, input: input.map(|input| input.0) })
    }
}

impl StreamMapping {
    fn new(name: &str, path: &str, properties: StreamProperties, template: &Template) -> Result<Self, TemplateError> {
        let StreamArn(table) = properties.stream;
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
            filters: filters(properties.filter_criteria),
            report_batch_item_failures: reports(properties.function_response_types.as_deref()),
            bisect: properties.bisect_batch_on_function_error.is_some_and(|it| it.0),
            maximum_retry_attempts: properties.maximum_retry_attempts.and_then(|it| it.0),
            maximum_record_age: properties.maximum_record_age_in_seconds.and_then(|it| it.0),
            on_failure: properties.destination_config.map(|config| config.on_failure.destination.0),
        })
    }
}

impl QueueMapping {
    /// An `AWS::Lambda::EventSourceMapping` of a queue, and the logical id of its function; `None` where it is switched
    /// off. `template` has to hold the queues and functions already.
    pub(super) fn read(resource: &Resource, template: &Template) -> Result<(String, Option<Self>), TemplateError> {
        let path = resource.properties_path();
        let mut properties: Mapping = typed(&path, &resource.properties)?;
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
        let QueueArn(queue) = properties.queue;
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
            filters: filters(properties.filter_criteria),
        })
    }
}

fn is_on(enabled: Option<Flag>) -> bool {
    enabled.is_none_or(|flag| flag.0)
}

fn filters(criteria: Option<FilterCriteria>) -> Vec<Filter> {
    let filters = criteria.map(|criteria| criteria.filters).unwrap_or_default();
    filters.into_iter().map(|filter| filter.pattern.0).collect()
}

fn reports(types: Option<&[ResponseType]>) -> bool {
    types.is_some_and(|types| !types.is_empty())
}
