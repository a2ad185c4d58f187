//! Drops messages past their queue's MessageRetentionPeriod, which rustack ignores.
//!
//! An expired message is deleted when it would be received. Until then it is still counted, which AWS's approximate
//! numbers allow.

use rustack_sqs_model::error::SqsError;
use rustack_sqs_model::input::{DeleteMessageInput, GetQueueAttributesInput, ReceiveMessageInput};
use rustack_sqs_model::output::ReceiveMessageOutput;
use rustack_sqs_model::types::Message;

use super::Queues;

const SENT: &str = "SentTimestamp";
const RETENTION: &str = "MessageRetentionPeriod";

impl Queues {
    /// ReceiveMessage, without messages past the queue's retention.
    pub(super) async fn receive(&self, mut request: ReceiveMessageInput) -> Result<ReceiveMessageOutput, SqsError> {
        let asked_for_sent_time = asks_for_sent_time(&request);
        if !asked_for_sent_time {
            request.message_system_attribute_names.push(SENT.to_owned());
        }
        loop {
            let mut answer = self.rustack.receive_message(request.clone()).await?;
            if answer.messages.is_empty() {
                return Ok(answer);
            }
            let kept_since = (self.clock)().saturating_sub(self.retention_millis(&request.queue_url).await?);
            let (kept, expired): (Vec<_>, Vec<_>) =
                answer.messages.into_iter().partition(|message| sent_millis(message) >= kept_since);
            for receipt_handle in expired.into_iter().filter_map(|message| message.receipt_handle) {
                self.rustack
                    .delete_message(DeleteMessageInput { queue_url: request.queue_url.clone(), receipt_handle })
                    .await?;
            }
            if !kept.is_empty() {
                answer.messages = kept;
                if !asked_for_sent_time {
                    answer.messages.iter_mut().for_each(|message| drop(message.attributes.remove(SENT)));
                }
                return Ok(answer);
            }
            // Younger messages may stand behind the expired ones. Look without waiting again: AWS too may answer a long
            // poll early and empty.
            request.wait_time_seconds = Some(0);
        }
    }

    async fn retention_millis(&self, queue_url: &str) -> Result<u64, SqsError> {
        let request =
            GetQueueAttributesInput { queue_url: queue_url.to_owned(), attribute_names: vec![RETENTION.to_owned()] };
        let answer = self.rustack.get_queue_attributes(request).await?;
        let seconds: Option<u64> = answer.attributes.get(RETENTION).and_then(|seconds| seconds.parse().ok());
        seconds
            .map(|seconds| seconds * 1000)
            .ok_or_else(|| SqsError::internal_error("the queue has no MessageRetentionPeriod"))
    }
}

fn asks_for_sent_time(request: &ReceiveMessageInput) -> bool {
    let mut names = request.attribute_names.iter().chain(&request.message_system_attribute_names);
    names.any(|name| name == SENT || name == "All")
}

/// A message without a sent time, which rustack does not produce, counts as new.
fn sent_millis(message: &Message) -> u64 {
    message.attributes.get(SENT).and_then(|millis| millis.parse().ok()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rustack_sqs_model::input::{CreateQueueInput, SendMessageInput};

    use super::super::epoch_millis;
    use super::*;

    /// A queue with a retention of one minute and one message sent now, read at the time that `clock` gives.
    async fn queue_with_message(clock: fn() -> u64) -> (Queues, String) {
        let queues = Queues::new(1, clock);
        let attributes = HashMap::from([(RETENTION.to_owned(), "60".to_owned())]);
        let ask = CreateQueueInput { queue_name: "orders".to_owned(), attributes, ..CreateQueueInput::default() };
        let queue_url = queues.rustack.create_queue(ask).await.unwrap().queue_url.unwrap();
        let message = SendMessageInput {
            queue_url: queue_url.clone(),
            message_body: "hello".to_owned(),
            ..SendMessageInput::default()
        };
        queues.rustack.send_message(message).await.unwrap();
        (queues, queue_url)
    }

    async fn received(queues: &Queues, queue_url: &str) -> Vec<Message> {
        let ask = ReceiveMessageInput { queue_url: queue_url.to_owned(), ..ReceiveMessageInput::default() };
        queues.receive(ask).await.unwrap().messages
    }

    #[tokio::test]
    async fn message_past_retention_is_not_received() {
        let (queues, queue_url) = queue_with_message(|| epoch_millis() + 61_000).await;
        assert!(received(&queues, &queue_url).await.is_empty());
        let ask = GetQueueAttributesInput { queue_url, attribute_names: vec!["All".to_owned()] };
        let numbers = queues.rustack.get_queue_attributes(ask).await.unwrap().attributes;
        assert_eq!(numbers["ApproximateNumberOfMessages"], "0");
        assert_eq!(numbers["ApproximateNumberOfMessagesNotVisible"], "0");
    }

    #[tokio::test]
    async fn message_within_retention_is_received_with_requested_attributes_only() {
        let (queues, queue_url) = queue_with_message(|| epoch_millis() + 30_000).await;
        let messages = received(&queues, &queue_url).await;
        assert_eq!(messages[0].body.as_deref(), Some("hello"));
        assert!(messages[0].attributes.is_empty());
    }
}
