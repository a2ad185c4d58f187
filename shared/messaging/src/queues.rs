//! Sending events and sends to their queues, in batches split by count and bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use domain::Event;
use domain::routing::Queue;
use domain::send::ChannelSend;
use futures_util::future::join_all;
use runtime::{BadSetting, Settings};

use crate::{envelope, order};

/// SQS takes at most this many messages in one call,
const BATCH_COUNT: usize = 10;
/// and at most this many bytes, attributes included.
const BATCH_BYTES: usize = 256 * 1024;
/// and delays a message for at most this many seconds.
const LONGEST_DELAY: u64 = 900;

/// The subscribed queues.
#[derive(Debug, Clone)]
pub struct Queues {
    client: aws_sdk_sqs::Client,
    urls: BTreeMap<Queue, String>,
}

/// A message did not reach its queue, as far as can be known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The queue is out of reach, throttles or lost its answer; it may pass.
    #[error("queue unavailable: {0}")]
    Unavailable(String),
    /// The queue refused this message.
    #[error("queue refused the message: {0}")]
    Refused(String),
}

/// One message on its way to one queue.
#[derive(Debug, Clone, Copy)]
pub struct Parcel<'a> {
    /// The queue.
    pub queue: Queue,
    /// What is in it.
    pub load: Load<'a>,
    /// How long the queue is to keep it to itself, as far as it can.
    pub delay: Duration,
}

/// What a message carries.
#[derive(Debug, Clone, Copy)]
pub enum Load<'a> {
    /// An event, in its envelope.
    Event(&'a Event),
    /// The order to deliver a send.
    Send(&'a ChannelSend),
}

impl<'a> Parcel<'a> {
    /// An event for a consumer.
    pub fn event(queue: Queue, event: &'a Event) -> Self {
        Self { queue, load: Load::Event(event), delay: Duration::ZERO }
    }

    /// A send for its channel, after a delay.
    pub fn send(send: &'a ChannelSend, delay: Duration) -> Self {
        Self { queue: Queue::Deliver(send.id.channel), load: Load::Send(send), delay }
    }
}

struct Packed {
    index: usize,
    bytes: usize,
    entry: SendMessageBatchRequestEntry,
}

impl Queues {
    /// The URLs of these queues, each from its own setting. Only the queue of payments may be missing: a deployment
    /// without payments has none, and no orders either.
    pub fn from_settings(
        client: aws_sdk_sqs::Client,
        settings: &Settings,
        queues: &BTreeSet<Queue>,
    ) -> Result<Self, BadSetting> {
        let mut urls = BTreeMap::new();
        for queue in queues {
            match settings.text(queue.setting()) {
                Ok(url) => drop(urls.insert(*queue, url)),
                Err(BadSetting::Missing { .. }) if queue.is_optional() => {}
                Err(bad) => return Err(bad),
            }
        }
        Ok(Self { client, urls })
    }

    /// Sends every parcel and says of each, in their order, whether its queue has acknowledged it.
    pub async fn send(&self, parcels: &[Parcel<'_>]) -> Vec<Result<(), SendError>> {
        let mut results = vec![Err(SendError::Unavailable("not sent".to_owned())); parcels.len()];
        let mut by_queue: BTreeMap<Queue, Vec<Packed>> = BTreeMap::new();
        for (index, parcel) in parcels.iter().enumerate() {
            match pack(index, parcel) {
                Ok(packed) => by_queue.entry(parcel.queue).or_default().push(packed),
                Err(error) => results[index] = Err(error),
            }
        }
        let batches =
            by_queue.into_iter().flat_map(|(queue, packed)| split(packed).into_iter().map(move |batch| (queue, batch)));
        for batch in join_all(batches.map(|(queue, batch)| self.send_batch(queue, batch))).await {
            for (index, result) in batch {
                results[index] = result;
            }
        }
        results
    }

    async fn send_batch(&self, queue: Queue, batch: Vec<Packed>) -> Vec<(usize, Result<(), SendError>)> {
        let indexes: Vec<usize> = batch.iter().map(|packed| packed.index).collect();
        let Some(url) = self.urls.get(&queue) else {
            // It waits until somebody sets it: what is not sent must not count as published.
            let unavailable = Err(SendError::Unavailable(format!("{} is not set", queue.setting())));
            return indexes.into_iter().map(|index| (index, unavailable.clone())).collect();
        };
        let entries = batch.into_iter().map(|packed| packed.entry).collect();
        match self.client.send_message_batch().queue_url(url).set_entries(Some(entries)).send().await {
            Ok(output) => {
                let sent: BTreeSet<&str> = output.successful().iter().map(|entry| entry.id()).collect();
                let result = |index: usize| {
                    if sent.contains(index.to_string().as_str()) {
                        return Ok(());
                    }
                    let failed = output.failed().iter().find(|entry| entry.id() == index.to_string());
                    match failed {
                        Some(entry) if entry.sender_fault() => Err(SendError::Refused(entry.code().to_owned())),
                        Some(entry) => Err(SendError::Unavailable(entry.code().to_owned())),
                        None => Err(SendError::Unavailable("not acknowledged".to_owned())),
                    }
                };
                indexes.into_iter().map(|index| (index, result(index))).collect()
            }
            Err(error) => {
                let reason = ledger::causes(&error);
                indexes.into_iter().map(|index| (index, Err(SendError::Unavailable(reason.clone())))).collect()
            }
        }
    }
}

/// The message attributes: what a consumer or a filter needs without parsing the body.
fn attributes(parcel: &Parcel<'_>) -> BTreeMap<&'static str, String> {
    let event = match parcel.load {
        Load::Event(event) => event,
        Load::Send(send) => return order::attributes(send),
    };
    let mut attributes = BTreeMap::from([
        ("event_id", event.event_id.to_string()),
        ("event_type", event.event_type.clone()),
        ("aggregate_type", event.aggregate_type.clone()),
        ("aggregate_id", event.aggregate_id.clone()),
        ("occurred_at", event.occurred_at.to_string()),
    ]);
    if let Some(traceparent) = &event.traceparent {
        attributes.insert("traceparent", traceparent.to_string());
    }
    if let Some(audience) = parcel.queue.audience() {
        attributes.insert("recipient_type", audience.to_string());
        for group in ["restaurant_id", "agency_id"] {
            // A queue refuses an attribute that is empty.
            if let Some(id) = event.payload.get(group).and_then(|id| id.as_str()).filter(|id| !id.is_empty()) {
                attributes.insert(group, id.to_owned());
            }
        }
    }
    attributes
}

fn pack(index: usize, parcel: &Parcel<'_>) -> Result<Packed, SendError> {
    let refused = |reason: String| SendError::Refused(reason);
    let body = match parcel.load {
        Load::Event(event) => envelope::write(event),
        Load::Send(send) => order::write(send),
    };
    let body = body.map_err(|error| refused(error.to_string()))?;
    let mut bytes = body.len();
    // Rounded up: what comes too early would have to be put back.
    let delay = parcel.delay.as_millis().div_ceil(1_000).min(LONGEST_DELAY.into());
    let delay = i32::try_from(delay).ok().filter(|delay| *delay > 0);
    let entry = SendMessageBatchRequestEntry::builder().id(index.to_string()).message_body(body);
    let mut entry = entry.set_delay_seconds(delay);
    for (name, value) in attributes(parcel) {
        bytes += name.len() + "String".len() + value.len();
        let value = MessageAttributeValue::builder().data_type("String").string_value(value).build();
        entry = entry.message_attributes(name, value.map_err(|error| refused(error.to_string()))?);
    }
    // In one call with others it would be refused together with them.
    if bytes > BATCH_BYTES {
        return Err(refused("larger than a queue takes".to_owned()));
    }
    Ok(Packed { index, bytes, entry: entry.build().map_err(|error| refused(error.to_string()))? })
}

fn split(packed: Vec<Packed>) -> Vec<Vec<Packed>> {
    let mut batches: Vec<Vec<Packed>> = Vec::new();
    let mut room = 0;
    for message in packed {
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_COUNT && message.bytes <= room => {
                room -= message.bytes;
                batch.push(message);
            }
            _ => {
                room = BATCH_BYTES.saturating_sub(message.bytes);
                batches.push(vec![message]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(sizes: &[usize]) -> Vec<Packed> {
        let entry = SendMessageBatchRequestEntry::builder().id("0").message_body("b").build().expect("an entry");
        sizes.iter().enumerate().map(|(index, &bytes)| Packed { index, bytes, entry: entry.clone() }).collect()
    }

    fn event(bytes: usize) -> Event {
        Event {
            event_id: domain::EventId::parse("e").expect("an id"),
            event_type: "T".to_owned(),
            aggregate_type: "A".to_owned(),
            aggregate_id: "a".to_owned(),
            version: None,
            occurred_at: domain::Time::now(),
            recorded_at: domain::Time::now(),
            actor: None,
            traceparent: None,
            payload: serde_json::json!({"text": "x".repeat(bytes)}),
        }
    }

    fn counts(sizes: &[usize]) -> Vec<usize> {
        split(packed(sizes)).iter().map(Vec::len).collect()
    }

    #[test]
    fn batches_hold_at_most_ten_messages() {
        assert_eq!(counts(&[1; 25]), [10, 10, 5]);
    }

    #[test]
    fn batches_hold_at_most_256_kib() {
        assert_eq!(counts(&[128 * 1024, 128 * 1024, 1]), [2, 1]);
        assert_eq!(counts(&[200 * 1024, 100 * 1024, 100 * 1024]), [1, 2]);
    }

    #[tokio::test]
    async fn an_event_waits_for_a_queue_that_a_deployment_does_not_have() {
        let sqs = aws_sdk_sqs::Client::from_conf(aws_sdk_sqs::Config::builder().behavior_version_latest().build());
        let queues = |queue| Queues::from_settings(sqs.clone(), &Settings::from_iter([]), &[queue].into());
        let missing = queues(Queue::Inventory).err().map(|missing| missing.to_string());
        assert_eq!(missing.as_deref(), Some("BELFRY_INVENTORY_QUEUE_URL is not set"));
        let sent = queues(Queue::Payment).expect("optional").send(&[Parcel::event(Queue::Payment, &event(1))]).await;
        let reason = "BELFRY_PAYMENT_QUEUE_URL is not set".to_owned();
        assert_eq!(sent, [Err(SendError::Unavailable(reason))], "postponed, and neither published nor given up");
    }

    #[test]
    fn a_message_too_large_for_any_queue_is_refused_before_it_holds_up_others() {
        let (small, large) = (event(1), event(BATCH_BYTES));
        assert!(pack(0, &Parcel::event(Queue::Redrives, &small)).is_ok());
        let refused = pack(0, &Parcel::event(Queue::Redrives, &large)).err();
        assert_eq!(refused, Some(SendError::Refused("larger than a queue takes".to_owned())));
    }
}
