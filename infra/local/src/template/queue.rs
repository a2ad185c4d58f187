//! `AWS::SQS::Queue`: timeouts, retention and redrive policy.

use super::Resource;
use super::error::TemplateError;
use super::typed::{Text, Whole, properties, queue_arn};
use serde::Deserialize;

/// A standard queue. All times are in seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    pub logical_id: String,
    pub name: String,
    pub visibility_timeout: u32,
    pub retention: u32,
    pub redrive: Option<Redrive>,
}

/// When a message moves to the dead letter queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redrive {
    pub dead_letter_queue: String,
    pub max_receive_count: u32,
}

properties! {
    /// FIFO queues are not supported: the engine neither orders nor deduplicates.
    struct Properties {
        message_retention_period: Option<Whole<60, 1_209_600>>,
        queue_name: Option<Text>,
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
            redrive,
        })
    }
}
