//! Delivery jobs: the messages on the queues of channels. Each names the send to deliver.
//!
//! A job carries no state. A lost, duplicated or early job changes nothing, because the send in its table decides.

use std::collections::BTreeMap;
use std::time::Duration;

use belfry_aws::dead_letter::{FailedEvent, GivenUp};
use belfry_aws::dead_letters::REDRIVE_ATTRIBUTE;
use belfry_aws::{OutboundMessage, Received, Timestamp};
use domain::routing::Queue;
use domain::send::{ChannelSend, SendId};
use uuid::Uuid;

/// The kind of the id from which a send's dead letter derives its own.
const IDENTITY: &str = "send";

/// The message is not a delivery job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a delivery job: {0}")]
pub struct NotADeliveryJob(String);

/// The message that makes the worker of its channel deliver a send, after this delay.
pub fn message(send: &ChannelSend, delay: Duration) -> OutboundMessage {
    OutboundMessage { queue: queue(&send.id).name().to_owned(), body: body(send), attributes: attributes(send), delay }
}

/// Reads a message's body.
pub fn read(body: &str) -> Result<SendId, NotADeliveryJob> {
    // Says which kind of error but not its text, which may quote the body.
    serde_json::from_str(body).map_err(|error| NotADeliveryJob(format!("{:?} error", error.classify()).to_lowercase()))
}

/// The redrive that caused a message, if one did.
pub fn redrive(attributes: &BTreeMap<String, String>) -> Option<Uuid> {
    attributes.get(REDRIVE_ATTRIBUTE).and_then(|text| Uuid::parse_str(text).ok())
}

/// The dead letter of a send that was given up. It keeps the delivery job, so that a redrive sends it again.
pub fn given_up(send: &ChannelSend, reason: String) -> GivenUp {
    let queue = queue(&send.id);
    GivenUp {
        queue: queue.name().to_owned(),
        consumer: queue.consumer(),
        event: Some(FailedEvent {
            event_id: send.id.event_id.clone(),
            event_type: send.event_type.clone(),
            recorded_at: send.created_at,
        }),
        identity: identity(&send.id),
        message_id: String::new(),
        reason,
        receive_count: send.attempt_count,
        body: body(send),
        attributes: attributes(send),
    }
}

/// The dead letter of a message whose send cannot be read.
pub fn unprocessable(message: &Received, id: &SendId, reason: String, now: Timestamp) -> GivenUp {
    let event = message.attributes.get("event_type").map(|event_type| FailedEvent {
        event_id: id.event_id.clone(),
        event_type: event_type.clone(),
        recorded_at: now,
    });
    GivenUp { event, identity: identity(id), ..message.give_up(reason) }
}

fn identity(id: &SendId) -> Option<(&'static str, String)> {
    Some((IDENTITY, id.notification_id.to_string()))
}

fn queue(id: &SendId) -> Queue {
    Queue::Deliver(id.channel)
}

/// Texts and ids can always be written as JSON.
fn body(send: &ChannelSend) -> String {
    serde_json::to_string(&send.id).unwrap_or_default()
}

fn attributes(send: &ChannelSend) -> BTreeMap<String, String> {
    let attributes = [
        ("event_id", Some(send.id.event_id.to_string())),
        ("event_type", Some(send.event_type.clone())),
        ("channel", Some(send.id.channel.as_str().to_owned())),
        ("recipient_type", Some(send.id.audience.to_string())),
        ("traceparent", send.traceparent.as_ref().map(ToString::to_string)),
    ];
    attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
