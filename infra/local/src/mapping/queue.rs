//! Queue mapping: long polls, filters, invokes up to its concurrency side by side, deletes what succeeded.
//!
//! What failed stays where it is and becomes visible again when its visibility timeout ends, as the queue counts it;
//! the redrive policy is the queue's own business.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::aws::{Clients, REGION};
use crate::deliveries::Deliveries;
use crate::functions::Invocable;
use crate::mapping::passes;
use crate::template::QueueMapping;

/// Lambda starts with five concurrent batches where the mapping names no maximum.
const DEFAULT_CONCURRENCY: u32 = 5;
/// SQS hands out at most this many messages at once.
const RECEIVE_AT_MOST: u32 = 10;
/// How long a poll waits for a message. A stopping host waits for its polls, so they are short.
const LONG_POLL_SECONDS: i32 = 1;
/// How long to wait after an error of the queue itself.
const AFTER_ERROR: Duration = Duration::from_millis(500);

/// One queue mapping.
#[derive(Debug, Clone)]
pub struct QueuePoller {
    /// The mapping, as the template has it.
    pub mapping: QueueMapping,
    /// The queue.
    pub queue_url: String,
    /// The same, as the function is told.
    pub queue_arn: String,
    /// The function behind it.
    pub function: Invocable,
    /// The clients.
    pub clients: Clients,
    /// What has been delivered.
    pub deliveries: Deliveries,
}

impl QueuePoller {
    /// Polls until it is told to stop, then waits for what is under way.
    pub async fn run(self, stop: CancellationToken) {
        let concurrency = self.mapping.maximum_concurrency.unwrap_or(DEFAULT_CONCURRENCY);
        let slots = Arc::new(Semaphore::new(usize::try_from(concurrency).unwrap_or(1)));
        let under_way = TaskTracker::new();
        while !stop.is_cancelled() {
            let slot = tokio::select! {
                () = stop.cancelled() => break,
                slot = Arc::clone(&slots).acquire_owned() => slot,
            };
            // Not given up when the host stops: a message that was being handed out would be lost from sight until its
            // visibility ends.
            match self.gather().await {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => {
                    let poller = self.clone();
                    under_way.spawn(async move {
                        poller.deliver(messages).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    tracing::warn!(queue = self.queue_arn, error, "queue cannot be read");
                    let _ = tokio::time::timeout(AFTER_ERROR, stop.cancelled()).await;
                }
            }
        }
        under_way.close();
        under_way.wait().await;
    }

    /// A batch: what one receive gives, or, with a batching window, what comes until it is full or the window ends.
    async fn gather(&self) -> Result<Vec<Message>, String> {
        let mut batch = self.receive(self.mapping.batch_size, LONG_POLL_SECONDS).await?;
        let window = Instant::now() + Duration::from_secs(self.mapping.batching_window.into());
        while !batch.is_empty() && Instant::now() < window {
            let room = self.mapping.batch_size.saturating_sub(u32::try_from(batch.len()).unwrap_or(u32::MAX));
            if room == 0 {
                break;
            }
            batch.extend(self.receive(room, 1).await?);
        }
        Ok(batch)
    }

    async fn receive(&self, most: u32, wait_seconds: i32) -> Result<Vec<Message>, String> {
        let most = i32::try_from(most.clamp(1, RECEIVE_AT_MOST)).unwrap_or(1);
        let request = self
            .clients
            .sqs
            .receive_message()
            .queue_url(&self.queue_url)
            .max_number_of_messages(most)
            .wait_time_seconds(wait_seconds)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All");
        let output = request.send().await.map_err(|error| DisplayErrorContext(&error).to_string())?;
        Ok(output.messages.unwrap_or_default())
    }

    async fn deliver(&self, messages: Vec<Message>) {
        let (wanted, unwanted): (Vec<_>, Vec<_>) = messages
            .into_iter()
            .map(|message| (self.lambda_record(&message), message))
            .partition(|(record, _)| passes(&self.mapping.filters, &for_filter(record)));
        // Lambda deletes what the filter does not let through.
        let mut done: Vec<Message> = unwanted.into_iter().map(|(_, message)| message).collect();
        let (records, messages): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
        if !records.is_empty() {
            for record in &records {
                self.deliveries.remember(&self.function.name, record);
            }
            match self.function.invoke(json!({"Records": records})).await {
                Ok(response) => {
                    let reports = self.mapping.report_batch_item_failures;
                    done.extend(succeeded(messages, &response, reports));
                }
                Err(error) => {
                    tracing::error!(function = self.function.name, error, "function failed, batch comes back")
                }
            }
        }
        self.delete(&done).await;
    }

    async fn delete(&self, messages: &[Message]) {
        for chunk in messages.chunks(10) {
            let entry = |(index, message): (usize, &Message)| {
                let handle = message.receipt_handle.clone().unwrap_or_default();
                DeleteMessageBatchRequestEntry::builder().id(index.to_string()).receipt_handle(handle).build().ok()
            };
            let entries: Vec<_> = chunk.iter().enumerate().filter_map(entry).collect();
            let delete = self.clients.sqs.delete_message_batch().queue_url(&self.queue_url).set_entries(Some(entries));
            if let Err(error) = delete.send().await {
                // No loss: the messages come again, and consumers skip what they have done.
                tracing::warn!(queue = self.queue_arn, error = %DisplayErrorContext(&error), "messages not deleted");
            }
        }
    }

    /// A message in the JSON that Lambda sends.
    fn lambda_record(&self, message: &Message) -> Value {
        let attributes =
            message.attributes.iter().flatten().map(|(name, value)| (name.as_str().to_owned(), json!(value)));
        let message_attributes = message.message_attributes.iter().flatten().map(|(name, value)| {
            let value = json!({
                "stringValue": value.string_value,
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": value.data_type,
            });
            (name.clone(), value)
        });
        json!({
            "messageId": message.message_id,
            "receiptHandle": message.receipt_handle,
            "body": message.body,
            "attributes": attributes.collect::<Map<_, _>>(),
            "messageAttributes": message_attributes.collect::<Map<_, _>>(),
            "md5OfBody": message.md5_of_body,
            "eventSource": "aws:sqs",
            "eventSourceARN": self.queue_arn,
            "awsRegion": REGION,
        })
    }
}

/// A filter looks into a JSON body as if it were part of the record.
fn for_filter(record: &Value) -> Value {
    let mut record = record.clone();
    if let Some(body) = record["body"].as_str().and_then(|body| serde_json::from_str(body).ok()) {
        record["body"] = body;
    }
    record
}

/// The messages that are done: all, or all but those that the report names. A report that names a message which is
/// not in the batch fails the whole batch.
fn succeeded(messages: Vec<Message>, response: &Value, reports: bool) -> Vec<Message> {
    let failures = response["batchItemFailures"].as_array().filter(|_| reports);
    let failed: Vec<&str> =
        failures.into_iter().flatten().map(|failure| failure["itemIdentifier"].as_str().unwrap_or_default()).collect();
    let is_in_batch = |id: &&str| messages.iter().any(|message| message.message_id() == Some(id));
    if !failed.iter().all(is_in_batch) {
        return Vec::new();
    }
    let has_failed = |message: &Message| failed.iter().any(|id| message.message_id() == Some(id));
    messages.into_iter().filter(|message| !has_failed(message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(report: &Value, reports: bool) -> Vec<String> {
        let messages = ["a", "b", "c"].map(|id| Message::builder().message_id(id).build()).into();
        succeeded(messages, report, reports).into_iter().filter_map(|message| message.message_id).collect()
    }

    #[test]
    fn all_but_the_named_messages_are_done() {
        assert_eq!(done(&json!({"batchItemFailures": [{"itemIdentifier": "b"}]}), true), ["a", "c"]);
        assert_eq!(done(&json!({"batchItemFailures": []}), true), ["a", "b", "c"]);
    }

    #[test]
    fn a_name_that_is_not_in_the_batch_fails_all_of_it() {
        assert!(done(&json!({"batchItemFailures": [{"itemIdentifier": "z"}]}), true).is_empty());
        assert!(done(&json!({"batchItemFailures": [{"itemIdentifier": null}]}), true).is_empty());
    }

    #[test]
    fn a_report_counts_only_where_the_mapping_asks_for_it() {
        assert_eq!(done(&json!({"batchItemFailures": [{"itemIdentifier": "b"}]}), false), ["a", "b", "c"]);
    }
}
