//! Dead-letter queues.

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName, QueueAttributeName};

use crate::clients::{Pair, until};

const DEAD: &str = "orders-dead";

/// A queue whose messages are dead letters after one receive, and its dead-letter queue.
struct Queues {
    pair: Pair,
    url: String,
    dead_url: String,
    dead_arn: String,
}

impl Queues {
    async fn start() -> Queues {
        let pair = Pair::start().await;
        let (dead_url, dead_arn) = pair.queue(DEAD, &[]).await;
        let policy = format!(r#"{{"deadLetterTargetArn":"{dead_arn}","maxReceiveCount":"1"}}"#);
        let (url, _) = pair.queue("orders", &[("RedrivePolicy", &policy), ("VisibilityTimeout", "0")]).await;
        Queues { pair, url, dead_url, dead_arn }
    }

    async fn receive(&self, url: &str) -> Option<Message> {
        let received = self
            .pair
            .sqs
            .receive_message()
            .queue_url(url)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send()
            .await
            .expect("answered");
        received.messages.and_then(|mut messages| messages.pop())
    }

    async fn waiting_in(&self, url: &str) -> usize {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let request = self.pair.sqs.get_queue_attributes().queue_url(url).attribute_names(name.clone());
        let attributes = request.send().await.expect("answered").attributes.expect("attributes");
        attributes[&name].parse().expect("a number")
    }

    /// Sends a message and receives it until it is a dead letter.
    async fn send_dead_letter(&self) {
        self.pair.sqs.send_message().queue_url(&self.url).message_body("hello").send().await.expect("sent");
        until("a dead letter", async || {
            self.receive(&self.url).await;
            (self.waiting_in(&self.dead_url).await == 1).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn message_received_too_often_is_moved_and_names_its_source() {
    let queues = Queues::start().await;
    queues.send_dead_letter().await;
    let message = queues.receive(&queues.dead_url).await.unwrap();
    assert_eq!(message.body.as_deref(), Some("hello"));
    let attributes = message.attributes.unwrap();
    assert_eq!(
        attributes[&MessageSystemAttributeName::DeadLetterQueueSourceArn],
        "arn:aws:sqs:us-east-1:000000000000:orders"
    );
    assert!(queues.receive(&queues.url).await.is_none());
}

#[tokio::test]
async fn sources_of_a_dead_letter_queue_are_listed() {
    let queues = Queues::start().await;
    let listed = queues.pair.sqs.list_dead_letter_source_queues().queue_url(&queues.dead_url).send().await.unwrap();
    assert_eq!(listed.queue_urls, [queues.url]);
}

#[tokio::test]
async fn redrive_policy_set_later_may_have_a_string_count() {
    let queues = Queues::start().await;
    let policy = format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":"7"}}"#, queues.dead_arn);
    let name = QueueAttributeName::RedrivePolicy;
    let set = queues.pair.sqs.set_queue_attributes().queue_url(&queues.url).attributes(name.clone(), policy);
    set.send().await.unwrap();
    let request = queues.pair.sqs.get_queue_attributes().queue_url(&queues.url).attribute_names(name.clone());
    assert!(request.send().await.unwrap().attributes.unwrap()[&name].contains(r#""maxReceiveCount":7"#));
}
