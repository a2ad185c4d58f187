//! `AWS::SQS::Queue`: its times, and where messages go that were received too often.

use super::error::TemplateError;
use super::typed::{Ignored, QueueArn, Text, Whole, typed};
use serde::Deserialize;
use yaml_serde::Value as Yaml;

/// A standard queue. All times are in seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The name within the template.
    pub logical_id: String,
    /// The name of the queue itself.
    pub name: String,
    /// How long a received message stays hidden.
    pub visibility_timeout: u32,
    /// How long a message is kept.
    pub retention: u32,
    /// How long a new message stays hidden.
    pub delay: u32,
    /// How long a receive call waits when it does not say so itself.
    pub receive_wait: u32,
    /// Where messages go that are received too often.
    pub redrive: Option<Redrive>,
}

/// When a message leaves a queue for its dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redrive {
    /// The logical id of the dead-letter queue.
    pub dead_letter_queue: String,
    /// How often a message may be received before it goes there.
    pub max_receive_count: u32,
}

/// Those of FIFO queues are missing: the engine keeps neither order nor deduplication.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Properties {
    delay_seconds: Option<Whole<0, 900>>,
    message_retention_period: Option<Whole<60, 1_209_600>>,
    queue_name: Option<Text>,
    receive_message_wait_time_seconds: Option<Whole<0, 20>>,
    redrive_policy: Option<RedrivePolicy>,
    visibility_timeout: Option<Whole<0, 43_200>>,
    _kms_data_key_reuse_period_seconds: Ignored,
    _kms_master_key_id: Ignored,
    _maximum_message_size: Ignored,
    _redrive_allow_policy: Ignored,
    _sqs_managed_sse_enabled: Ignored,
    _tags: Ignored,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RedrivePolicy {
    dead_letter_target_arn: QueueArn,
    max_receive_count: Whole<1, 1000>,
}

impl Queue {
    /// `made_up` is the name of a queue that the template does not name.
    pub(super) fn read(logical_id: &str, path: &str, properties: &Yaml, made_up: &str) -> Result<Self, TemplateError> {
        let properties: Properties = typed(path, properties)?;
        let redrive = properties.redrive_policy.map(|policy| Redrive {
            dead_letter_queue: policy.dead_letter_target_arn.0,
            max_receive_count: policy.max_receive_count.0,
        });
        Ok(Self {
            logical_id: logical_id.to_owned(),
            name: properties.queue_name.map_or_else(|| made_up.to_owned(), |name| name.0),
            visibility_timeout: properties.visibility_timeout.map_or(30, |it| it.0),
            retention: properties.message_retention_period.map_or(345_600, |it| it.0),
            delay: properties.delay_seconds.map_or(0, |it| it.0),
            receive_wait: properties.receive_message_wait_time_seconds.map_or(0, |it| it.0),
            redrive,
        })
    }
}
