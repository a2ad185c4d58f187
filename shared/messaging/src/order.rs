//! The order to deliver a send, as a message on its channel's queue.

use std::collections::BTreeMap;

use aws_lambda_events::sqs::SqsMessage;
use domain::Time;
use domain::dead_letter::GivenUp;
use domain::routing::Queue;
use domain::send::{ChannelSend, SendId};
use uuid::Uuid;

use crate::delivery;
use crate::source::Source;

/// The attribute that a redriven order carries: which redrive, so that it opens a send once.
pub const REDRIVE: &str = "redrive";

/// The message is not an order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an order to deliver a send: {0}")]
pub struct NotAnOrder(String);

/// The message's body.
pub fn write(send: &ChannelSend) -> Result<String, serde_json::Error> {
    serde_json::to_string(&send.id)
}

/// Reads a message's body.
pub fn read(body: &str) -> Result<SendId, NotAnOrder> {
    // Its class and not its words: those quote the body.
    serde_json::from_str(body).map_err(|error| NotAnOrder(format!("{:?}", error.classify()).to_lowercase()))
}

/// The redrive that a message comes of, if it does.
pub fn redrive(attributes: &BTreeMap<String, String>) -> Option<Uuid> {
    attributes.get(REDRIVE).and_then(|text| Uuid::parse_str(text).ok())
}

/// The message's attributes.
pub fn attributes(send: &ChannelSend) -> BTreeMap<&'static str, String> {
    let mut attributes = BTreeMap::from([
        ("event_id", send.id.event_id.to_string()),
        ("event_type", send.event_type.clone()),
        ("channel", send.id.channel.as_str().to_owned()),
        ("recipient_type", send.id.audience.to_string()),
    ]);
    if let Some(traceparent) = &send.traceparent {
        attributes.insert("traceparent", traceparent.to_string());
    }
    attributes
}

/// An order that nobody can work on, as the dead letter of its send keeps it.
pub fn unworkable(message: &SqsMessage, source: &Source, order: &SendId, reason: String) -> GivenUp {
    let given_up = delivery::given_up(message, source, None, reason);
    let event_type = given_up.attributes.get("event_type").cloned();
    GivenUp {
        event: event_type.map(|event_type| (order.event_id.clone(), event_type, Time::now())),
        notification_id: Some(order.notification_id),
        ..given_up
    }
}

/// A send that is given up, as a dead letter keeps it: the order, so that it can be given again.
pub fn given_up(send: &ChannelSend, reason: String) -> Result<GivenUp, serde_json::Error> {
    let queue = Queue::Deliver(send.id.channel);
    Ok(GivenUp {
        queue: queue.name().to_owned(),
        consumer: queue.consumer(),
        event: Some((send.id.event_id.clone(), send.event_type.clone(), send.created_at)),
        notification_id: Some(send.id.notification_id),
        message_id: String::new(),
        reason,
        receive_count: send.attempt_count,
        body: write(send)?,
        attributes: attributes(send).into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    })
}
