//! `AWS::SQS::Queue`: its times, and where messages go that were received too often.

use super::Resource;
use super::error::TemplateError;
use super::typed::{Text, Whole, properties, queue_arn};
use serde::Deserialize;

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

properties! {
    /// Those of FIFO queues are missing: the engine keeps neither order nor deduplication.
    struct Properties {
        delay_seconds: Option<Whole<0, 900>>,
        message_retention_period: Option<Whole<60, 1_209_600>>,
        queue_name: Option<Text>,
        receive_message_wait_time_seconds: Option<Whole<0, 20>>,
        redrive_policy: Option<RedrivePolicy>,
        visibility_timeout: Option<Whole<0, 43_200>>,
    }
    ignored {
        KmsDataKeyReusePeriodSeconds KmsMasterKeyId MaximumMessageSize RedriveAllowPolicy SqsManagedSseEnabled
        Tags
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RedrivePolicy {
    #[serde(deserialize_with = "queue_arn")]
    dead_letter_target_arn: String,
    max_receive_count: Whole<1, 1000>,
}

impl Queue {
    pub(super) fn read(resource: &Resource, stack: &str) -> Result<Self, TemplateError> {
        let properties: Properties = resource.typed()?;
        let redrive = properties.redrive_policy.map(|policy| Redrive {
            dead_letter_queue: policy.dead_letter_target_arn,
            max_receive_count: policy.max_receive_count.0,
        });
        Ok(Self {
            logical_id: resource.logical_id.clone(),
            name: resource.name(properties.queue_name, stack),
            visibility_timeout: properties.visibility_timeout.map_or(30, |it| it.0),
            retention: properties.message_retention_period.map_or(345_600, |it| it.0),
            delay: properties.delay_seconds.map_or(0, |it| it.0),
            receive_wait: properties.receive_message_wait_time_seconds.map_or(0, |it| it.0),
            redrive,
        })
    }
}
