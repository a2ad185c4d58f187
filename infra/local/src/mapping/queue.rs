//! Queue mapping: receives by long polling, invokes up to its concurrency, and deletes what succeeded.
//!
//! A failed message becomes visible again when its visibility timeout ends. The queue counts receives and applies the
//! redrive policy.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::aws::{Clients, REGION};
use crate::deliveries::Deliveries;
use crate::functions::Invocable;
use crate::template::QueueMapping;

/// Lambda starts with five concurrent batches if the mapping sets no maximum.
const DEFAULT_CONCURRENCY: u32 = 5;
/// Short, because a stopping host waits for its polls.
const LONG_POLL_SECONDS: i32 = 1;
/// The pause after a failed receive.
const AFTER_ERROR: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub struct QueuePoller {
    pub mapping: QueueMapping,
    pub queue_url: String,
    pub queue_arn: String,
    pub function: Invocable,
    pub clients: Clients,
    pub deliveries: Deliveries,
}

impl QueuePoller {
    /// Polls until told to stop, then waits for running invocations.
    pub async fn run(self, stop: CancellationToken) {
        let concurrency = self.mapping.maximum_concurrency.unwrap_or(DEFAULT_CONCURRENCY);
        let slots = Arc::new(Semaphore::new(usize::try_from(concurrency).unwrap_or(1)));
        let running = TaskTracker::new();
        while !stop.is_cancelled() {
            let slot = tokio::select! {
                () = stop.cancelled() => break,
                slot = Arc::clone(&slots).acquire_owned() => slot,
            };
            // Not cancelled when the host stops: a message in the response would stay hidden for its visibility timeout.
            match self.receive().await {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => {
                    let poller = self.clone();
                    running.spawn(async move {
                        poller.deliver(messages).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    tracing::warn!(queue = self.queue_arn, error, "cannot receive from queue; will retry");
                    let _ = tokio::time::timeout(AFTER_ERROR, stop.cancelled()).await;
                }
            }
        }
        running.close();
        running.wait().await;
    }

    async fn receive(&self) -> Result<Vec<Message>, String> {
        let request = self
            .clients
            .sqs
            .receive_message()
            .queue_url(&self.queue_url)
            .max_number_of_messages(i32::try_from(self.mapping.batch_size).unwrap_or(1))
            .wait_time_seconds(LONG_POLL_SECONDS)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All");
        let output = request.send().await.map_err(|error| DisplayErrorContext(&error).to_string())?;
        Ok(output.messages.unwrap_or_default())
    }

    async fn deliver(&self, messages: Vec<Message>) {
        let records: Vec<Value> = messages.iter().map(|message| self.lambda_record(message)).collect();
        for record in &records {
            self.deliveries.remember(&self.function.name, record);
        }
        match self.function.invoke(json!({"Records": records})).await {
            Ok(response) => {
                self.delete(&succeeded(messages, &response, self.mapping.report_batch_item_failures)).await;
            }
            Err(error) => {
                tracing::error!(function = self.function.name, error, "function failed; batch will be redelivered");
            }
        }
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
                // Nothing is lost: consumers skip a redelivered message that they have processed.
                tracing::warn!(queue = self.queue_arn, error = %DisplayErrorContext(&error), "cannot delete messages; they will be redelivered");
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

/// The messages that succeeded: all, or all but those that the report names. A report that names a message outside the
/// batch fails the whole batch.
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
    fn all_but_the_reported_messages_succeed() {
        assert_eq!(done(&json!({"batchItemFailures": [{"itemIdentifier": "b"}]}), true), ["a", "c"]);
        assert_eq!(done(&json!({"batchItemFailures": []}), true), ["a", "b", "c"]);
    }

    #[test]
    fn report_of_an_unknown_message_fails_the_whole_batch() {
        assert!(done(&json!({"batchItemFailures": [{"itemIdentifier": "z"}]}), true).is_empty());
        assert!(done(&json!({"batchItemFailures": [{"itemIdentifier": null}]}), true).is_empty());
    }

    #[test]
    fn report_is_ignored_unless_the_mapping_asks_for_it() {
        assert_eq!(done(&json!({"batchItemFailures": [{"itemIdentifier": "b"}]}), false), ["a", "b", "c"]);
    }
}
