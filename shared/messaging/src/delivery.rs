//! One message, as a consumer sees it, and as a dead letter keeps it.

use std::collections::BTreeMap;

use aws_lambda_events::sqs::{BatchItemFailure, SqsMessage, SqsMessageAttribute};
use domain::Event;
use domain::dead_letter::GivenUp;

use crate::envelope::{self, NotAnEvent};
use crate::source::Source;

/// A message as a consumer sees it.
#[derive(Debug)]
pub struct Delivery {
    /// The event.
    pub event: Event,
    /// The message's text attributes.
    pub attributes: BTreeMap<String, String>,
    /// The consumer that it is for.
    pub consumer: String,
    /// The queue that it came from.
    pub queue: String,
}

impl Delivery {
    /// Reads a message.
    pub fn parse(message: &SqsMessage, source: &Source) -> Result<Self, NotAnEvent> {
        Ok(Self {
            event: envelope::read(message.body.as_deref().unwrap_or_default())?,
            attributes: attributes(message),
            consumer: source.consumer.clone(),
            queue: source.queue.clone(),
        })
    }
}

/// A message that is given up on, whole, so that it can be sent again as it was.
pub fn given_up(message: &SqsMessage, source: &Source, delivery: Option<&Delivery>, reason: String) -> GivenUp {
    let event = delivery.map(|delivery| &delivery.event);
    GivenUp {
        queue: source.queue.clone(),
        consumer: source.consumer.clone(),
        event: event.map(|event| (event.event_id.clone(), event.event_type.clone(), event.recorded_at)),
        notification_id: None,
        message_id: message.message_id.clone().unwrap_or_default(),
        reason,
        receive_count: receive_count(message),
        body: message.body.clone().unwrap_or_default(),
        attributes: attributes(message),
    }
}

/// The report that a message was not done with, so that it comes back.
pub fn failed(message: &SqsMessage) -> BatchItemFailure {
    let mut failure = BatchItemFailure::default();
    failure.item_identifier = message.message_id.clone().unwrap_or_default();
    failure
}

/// How often the queue has handed the message out, this time included.
pub fn receive_count(message: &SqsMessage) -> u32 {
    message.attributes.get("ApproximateReceiveCount").and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// A message's text attributes.
pub fn attributes(message: &SqsMessage) -> BTreeMap<String, String> {
    let text = |(name, value): (&String, &SqsMessageAttribute)| Some((name.clone(), value.string_value.clone()?));
    message.message_attributes.iter().filter_map(text).collect()
}
