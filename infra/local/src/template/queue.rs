//! `AWS::SQS::Queue`: its times, and where messages go that were received too often.

use super::error::{Problem, TemplateError};
use super::node::Node;

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

const KNOWN: [&str; 12] = [
    "DelaySeconds",
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "QueueName",
    "ReceiveMessageWaitTimeSeconds",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "SqsManagedSseEnabled",
    "Tags",
    "VisibilityTimeout",
];

impl Queue {
    pub(super) fn read(logical_id: &str, resource: &Node<'_>) -> Result<Self, TemplateError> {
        let properties = resource.need("Properties")?;
        // Order and deduplication are nothing that the queue engine keeps.
        for fifo in ["ContentBasedDeduplication", "DeduplicationScope", "FifoQueue", "FifoThroughputLimit"] {
            if let Some(fifo) = properties.get(fifo)? {
                return Err(fifo.error(Problem::Unsupported));
            }
        }
        properties.only(&KNOWN)?;
        Ok(Self {
            logical_id: logical_id.to_owned(),
            name: properties.name("QueueName", logical_id)?,
            visibility_timeout: properties.number_or("VisibilityTimeout", 30, 0..=43_200)?,
            retention: properties.number_or("MessageRetentionPeriod", 345_600, 60..=1_209_600)?,
            delay: properties.number_or("DelaySeconds", 0, 0..=900)?,
            receive_wait: properties.number_or("ReceiveMessageWaitTimeSeconds", 0, 0..=20)?,
            redrive: properties.get("RedrivePolicy")?.map(|node| Redrive::read(&node)).transpose()?,
        })
    }
}

impl Redrive {
    fn read(policy: &Node<'_>) -> Result<Self, TemplateError> {
        policy.only(&["deadLetterTargetArn", "maxReceiveCount"])?;
        Ok(Self {
            dead_letter_queue: policy.need("deadLetterTargetArn")?.queue_arn()?,
            max_receive_count: policy.need("maxReceiveCount")?.number(1..=1000)?,
        })
    }
}
