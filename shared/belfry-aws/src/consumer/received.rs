//! A message as it was received.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use aws_lambda_events::sqs::SqsMessage;
use belfry_core::Event;
use belfry_core::dead_letter::{FailedEvent, GivenUp};
use belfry_core::envelope::{self, NotAnEvent};

use crate::config::Queue;

/// A message as it was received.
#[derive(Debug)]
pub struct Received {
    /// The queue that it came from.
    pub queue: Queue,
    /// The id that the queue gave it.
    pub message_id: String,
    /// The body.
    pub body: String,
    /// The text attributes.
    pub attributes: BTreeMap<String, String>,
    /// How often it has been received, this time included.
    pub receive_count: u32,
    /// No attempt should start after this moment.
    pub deadline: Option<Instant>,
    pub(crate) receipt_handle: Option<String>,
    event: Result<Arc<Event>, NotAnEvent>,
}

impl Received {
    pub(crate) fn new(message: &SqsMessage, queue: Queue, deadline: Option<Instant>) -> Self {
        let body = message.body.clone().unwrap_or_default();
        let text = |(name, value): (&String, &aws_lambda_events::sqs::SqsMessageAttribute)| {
            Some((name.clone(), value.string_value.clone()?))
        };
        let receive_count = message.attributes.get("ApproximateReceiveCount").and_then(|count| count.parse().ok());
        Self {
            queue,
            message_id: message.message_id.clone().unwrap_or_default(),
            attributes: message.message_attributes.iter().filter_map(text).collect(),
            receive_count: receive_count.unwrap_or(1),
            deadline,
            receipt_handle: message.receipt_handle.clone(),
            event: envelope::read(&body).map(Arc::new),
            body,
        }
    }

    /// The event, if the message is one.
    pub fn event(&self) -> Option<&Arc<Event>> {
        self.event.as_ref().ok()
    }

    /// The event, or why the message is not one.
    pub fn read_event(&self) -> Result<&Arc<Event>, &NotAnEvent> {
        self.event.as_ref()
    }

    /// The whole message, as a dead letter keeps it.
    pub fn give_up(&self, reason: String) -> GivenUp {
        GivenUp {
            queue: self.queue.name.clone(),
            consumer: self.queue.consumer.clone(),
            event: self.event().map(|event| FailedEvent::of(event)),
            identity: None,
            message_id: self.message_id.clone(),
            reason,
            receive_count: self.receive_count,
            body: self.body.clone(),
            attributes: self.attributes.clone(),
        }
    }
}
