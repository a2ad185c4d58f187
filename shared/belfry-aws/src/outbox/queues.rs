//! Messages to queues, in batches.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use futures_util::future::join_all;

use crate::Belfry;
use crate::config::queue_variable;
use crate::error::causes;

/// SQS accepts at most this many messages in one call.
const BATCH_COUNT: usize = 10;

/// SQS accepts at most this many bytes in one call. A message must fit by itself.
const BATCH_BYTES: usize = 256 * 1024;

/// SQS accepts at most this many attributes on one message.
const MAX_ATTRIBUTES: usize = 10;

/// SQS delays a message at most this long.
const MAX_DELAY: Duration = Duration::from_secs(900);

/// A message to a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundMessage {
    /// The queue's name.
    pub queue: String,
    /// The body.
    pub body: String,
    /// Text attributes, at most ten. Empty values are left out, because SQS refuses them.
    pub attributes: BTreeMap<String, String>,
    /// How long the queue holds it back, up to 15 minutes.
    pub delay: Duration,
}

/// Why a queue did not acknowledge a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The queue is unreachable, throttled, denied or not configured. Does not count as an attempt.
    #[error("queue unavailable: {0}")]
    Unavailable(String),
    /// The queue refuses this message.
    #[error("queue refused the message: {0}")]
    Refused(String),
}

/// A message as an entry of a batch.
struct BatchEntry {
    index: usize,
    bytes: usize,
    entry: SendMessageBatchRequestEntry,
}

impl Belfry {
    /// Sends messages and returns for each, in order, whether its queue acknowledged it.
    pub async fn send(&self, messages: &[OutboundMessage]) -> Vec<Result<(), SendError>> {
        let mut results = vec![Err(SendError::Unavailable("not sent".to_owned())); messages.len()];
        let mut by_queue: BTreeMap<&str, Vec<BatchEntry>> = BTreeMap::new();
        for (index, message) in messages.iter().enumerate() {
            match batch_entry(index, message) {
                Ok(entry) => by_queue.entry(&message.queue).or_default().push(entry),
                Err(error) => results[index] = Err(error),
            }
        }
        let batches = by_queue
            .into_iter()
            .flat_map(|(queue, entries)| split(entries).into_iter().map(move |batch| (queue, batch)));
        for sent in join_all(batches.map(|(queue, batch)| self.send_batch(queue, batch))).await {
            for (index, result) in sent {
                results[index] = result;
            }
        }
        results
    }

    async fn send_batch(&self, queue: &str, batch: Vec<BatchEntry>) -> Vec<(usize, Result<(), SendError>)> {
        let indexes: Vec<usize> = batch.iter().map(|entry| entry.index).collect();
        let all = |error: SendError| indexes.iter().map(|index| (*index, Err(error.clone()))).collect();
        let Some(target) = self.0.config.queue_named(queue) else {
            // The event waits until the queue is configured. It must not count as published.
            return all(SendError::Unavailable(format!("{} is not set", queue_variable(queue))));
        };
        let entries = batch.into_iter().map(|entry| entry.entry).collect();
        match self.0.sqs.send_message_batch().queue_url(&target.url).set_entries(Some(entries)).send().await {
            Ok(output) => {
                let sent: BTreeSet<&str> = output.successful().iter().map(|entry| entry.id()).collect();
                let result = |index: usize| {
                    if sent.contains(index.to_string().as_str()) {
                        return Ok(());
                    }
                    match output.failed().iter().find(|entry| entry.id() == index.to_string()) {
                        Some(entry) if entry.sender_fault() => Err(SendError::Refused(entry.code().to_owned())),
                        Some(entry) => Err(SendError::Unavailable(entry.code().to_owned())),
                        None => Err(SendError::Unavailable("not acknowledged".to_owned())),
                    }
                };
                indexes.iter().map(|index| (*index, result(*index))).collect()
            }
            Err(error) => all(SendError::Unavailable(causes(&error))),
        }
    }
}

fn batch_entry(index: usize, message: &OutboundMessage) -> Result<BatchEntry, SendError> {
    let refused = |reason: String| SendError::Refused(reason);
    let attributes: Vec<_> = message.attributes.iter().filter(|(_, value)| !value.is_empty()).collect();
    if attributes.len() > MAX_ATTRIBUTES {
        return Err(refused(format!("{} message attributes; at most {MAX_ATTRIBUTES}", attributes.len())));
    }
    let mut bytes = message.body.len();
    // Rounded up: a message that comes too early would have to be put back.
    let delay = message.delay.min(MAX_DELAY).as_millis().div_ceil(1_000);
    let delay = i32::try_from(delay).ok().filter(|delay| *delay > 0);
    let entry = SendMessageBatchRequestEntry::builder().id(index.to_string()).message_body(&message.body);
    let mut entry = entry.set_delay_seconds(delay);
    for (name, value) in attributes {
        bytes += name.len() + "String".len() + value.len();
        let value = MessageAttributeValue::builder().data_type("String").string_value(value).build();
        entry = entry.message_attributes(name, value.map_err(|error| refused(error.to_string()))?);
    }
    // In a batch it would be refused together with the others.
    if bytes > BATCH_BYTES {
        return Err(refused(format!("message of {bytes} bytes; at most {BATCH_BYTES}")));
    }
    Ok(BatchEntry { index, bytes, entry: entry.build().map_err(|error| refused(error.to_string()))? })
}

fn split(entries: Vec<BatchEntry>) -> Vec<Vec<BatchEntry>> {
    let mut batches: Vec<Vec<BatchEntry>> = Vec::new();
    let mut room = 0;
    for entry in entries {
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_COUNT && entry.bytes <= room => {
                room -= entry.bytes;
                batch.push(entry);
            }
            _ => {
                room = BATCH_BYTES.saturating_sub(entry.bytes);
                batches.push(vec![entry]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: usize) -> OutboundMessage {
        OutboundMessage {
            queue: "reminders".to_owned(),
            body: "x".repeat(bytes),
            attributes: BTreeMap::new(),
            delay: Duration::ZERO,
        }
    }

    fn counts(sizes: &[usize]) -> Vec<usize> {
        let entry = |(index, bytes): (usize, &usize)| batch_entry(index, &message(*bytes)).expect("an entry");
        split(sizes.iter().enumerate().map(entry).collect()).iter().map(Vec::len).collect()
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

    #[test]
    fn a_message_that_no_queue_takes_is_refused_before_it_holds_up_others() {
        let refused = batch_entry(0, &message(BATCH_BYTES + 1)).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some("queue refused the message: message of 262145 bytes; at most 262144"));
        let attributes = (0..11).map(|n| (format!("a{n}"), "x".to_owned())).collect();
        let refused =
            batch_entry(0, &OutboundMessage { attributes, ..message(1) }).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some("queue refused the message: 11 message attributes; at most 10"));
    }

    #[test]
    fn empty_attributes_are_left_out() {
        let attributes = [("a", "x"), ("b", "")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let entry = batch_entry(0, &OutboundMessage { attributes, ..message(1) }).expect("an entry");
        assert_eq!(
            entry.entry.message_attributes().map(|all| all.keys().cloned().collect::<Vec<_>>()),
            Some(vec!["a".to_owned()])
        );
    }
}
