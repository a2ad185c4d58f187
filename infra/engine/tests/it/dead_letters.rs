//! Dead letters: how a message becomes one, and how it goes back.

use aws_sdk_sqs::types::{
    ListMessageMoveTasksResultEntry, Message, MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName,
};

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

    async fn send(&self, body: &str) {
        let note = MessageAttributeValue::builder().data_type("String").string_value("kept").build().expect("complete");
        let message = self.pair.sqs.send_message().queue_url(&self.url).message_body(body);
        message.message_attributes("note", note).send().await.expect("sent");
    }

    async fn receive(&self, url: &str) -> Option<Message> {
        let received = self
            .pair
            .sqs
            .receive_message()
            .queue_url(url)
            .message_attribute_names("All")
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send()
            .await
            .expect("answered");
        received.messages.and_then(|mut messages| messages.pop())
    }

    async fn waiting_in(&self, url: &str) -> usize {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let asked = self.pair.sqs.get_queue_attributes().queue_url(url).attribute_names(name.clone());
        let attributes = asked.send().await.expect("answered").attributes.expect("attributes");
        attributes[&name].parse().expect("a number")
    }

    /// Sends messages and receives each once too often.
    async fn bury(&self, count: usize) {
        for number in 0..count {
            self.send(&format!("message {number}")).await;
        }
        until("dead letters", async || {
            self.receive(&self.url).await;
            (self.waiting_in(&self.dead_url).await == count).then_some(())
        })
        .await;
    }

    async fn latest_task(&self) -> ListMessageMoveTasksResultEntry {
        let listed = self.pair.sqs.list_message_move_tasks().source_arn(&self.dead_arn).send().await;
        listed.expect("answered").results.and_then(|mut tasks| tasks.pop()).expect("a task")
    }

    async fn ended_task(&self) -> ListMessageMoveTasksResultEntry {
        until("the end of the task", async || {
            let task = self.latest_task().await;
            let active = matches!(task.status.as_deref(), Some("RUNNING" | "CANCELLING"));
            (!active).then_some(task)
        })
        .await
    }
}

#[tokio::test]
async fn a_message_received_too_often_is_a_dead_letter_that_knows_where_it_came_from() {
    let queues = Queues::start().await;
    queues.bury(1).await;
    let message = queues.receive(&queues.dead_url).await.unwrap();
    assert_eq!(message.body.as_deref(), Some("message 0"));
    let attributes = message.attributes.unwrap();
    assert_eq!(
        attributes[&MessageSystemAttributeName::DeadLetterQueueSourceArn],
        "arn:aws:sqs:us-east-1:000000000000:orders"
    );
    assert!(queues.receive(&queues.url).await.is_none());
}

#[tokio::test]
async fn the_queues_behind_a_dead_letter_queue_are_listed() {
    let queues = Queues::start().await;
    let asked = queues.pair.sqs.list_dead_letter_source_queues().queue_url(&queues.dead_url);
    assert_eq!(asked.send().await.unwrap().queue_urls, [queues.url]);
}

#[tokio::test]
async fn a_policy_set_later_may_be_written_with_a_string_too() {
    let queues = Queues::start().await;
    let policy = format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":"7"}}"#, queues.dead_arn);
    let name = QueueAttributeName::RedrivePolicy;
    let set = queues.pair.sqs.set_queue_attributes().queue_url(&queues.url).attributes(name.clone(), policy);
    set.send().await.unwrap();
    let asked = queues.pair.sqs.get_queue_attributes().queue_url(&queues.url).attribute_names(name.clone());
    assert!(asked.send().await.unwrap().attributes.unwrap()[&name].contains(r#""maxReceiveCount":7"#));
}

#[tokio::test]
async fn dead_letters_go_back_to_where_they_came_from_with_their_attributes() {
    let queues = Queues::start().await;
    queues.bury(3).await;
    let started = queues.pair.sqs.start_message_move_task().source_arn(&queues.dead_arn).send().await.unwrap();
    assert!(started.task_handle.is_some());

    let task = queues.ended_task().await;
    assert_eq!(task.status.as_deref(), Some("COMPLETED"));
    assert_eq!(task.approximate_number_of_messages_moved, 3);
    assert_eq!(task.approximate_number_of_messages_to_move, Some(3));
    assert_eq!(task.source_arn.as_deref(), Some(queues.dead_arn.as_str()));
    assert_eq!(task.task_handle, None, "an ended task cannot be cancelled");
    assert_eq!(queues.waiting_in(&queues.dead_url).await, 0);
    assert_eq!(queues.waiting_in(&queues.url).await, 3);
    let message = queues.receive(&queues.url).await.unwrap();
    assert_eq!(message.message_attributes.unwrap()["note"].string_value.as_deref(), Some("kept"));
}

#[tokio::test]
async fn dead_letters_can_be_moved_somewhere_else() {
    let queues = Queues::start().await;
    queues.bury(1).await;
    let (elsewhere, elsewhere_arn) = queues.pair.queue("elsewhere", &[]).await;
    let start = queues.pair.sqs.start_message_move_task().source_arn(&queues.dead_arn);
    start.destination_arn(&elsewhere_arn).send().await.unwrap();
    let task = queues.ended_task().await;
    assert_eq!(task.destination_arn.as_deref(), Some(elsewhere_arn.as_str()));
    assert_eq!(queues.waiting_in(&elsewhere).await, 1);
}

#[tokio::test]
async fn one_task_at_a_time_moves_from_a_queue_and_it_can_be_cancelled() {
    let queues = Queues::start().await;
    // So many that at one a second the task is not done by itself meanwhile.
    let buried = 20;
    queues.bury(buried).await;
    let start = || {
        let task = queues.pair.sqs.start_message_move_task().source_arn(&queues.dead_arn);
        task.max_number_of_messages_per_second(1).send()
    };
    let handle = start().await.unwrap().task_handle.unwrap();
    start().await.unwrap_err();
    assert_eq!(queues.latest_task().await.task_handle.as_deref(), Some(handle.as_str()));

    queues.pair.sqs.cancel_message_move_task().task_handle(&handle).send().await.unwrap();
    let task = queues.ended_task().await;
    assert_eq!(task.status.as_deref(), Some("CANCELLED"));
    let moved = usize::try_from(task.approximate_number_of_messages_moved).unwrap();
    assert_eq!(queues.waiting_in(&queues.dead_url).await + moved, buried, "none is lost or held back");
    start().await.unwrap();
}

#[tokio::test]
async fn a_message_that_came_from_nowhere_fails_the_task_and_stays() {
    let queues = Queues::start().await;
    queues.pair.sqs.send_message().queue_url(&queues.dead_url).message_body("stray").send().await.unwrap();
    queues.pair.sqs.start_message_move_task().source_arn(&queues.dead_arn).send().await.unwrap();
    let task = queues.ended_task().await;
    assert_eq!(task.status.as_deref(), Some("FAILED"));
    assert_eq!(task.failure_reason.as_deref(), Some("CouldNotDetermineMessageSource"));
    assert_eq!(queues.waiting_in(&queues.dead_url).await, 1);
}

#[tokio::test]
async fn only_a_dead_letter_queue_can_be_moved_from() {
    let queues = Queues::start().await;
    let from = |arn: &str| queues.pair.sqs.start_message_move_task().source_arn(arn).send();
    from("arn:aws:sqs:us-east-1:000000000000:orders").await.unwrap_err();
    let missing = from("arn:aws:sqs:us-east-1:000000000000:missing").await.unwrap_err();
    assert!(missing.into_service_error().is_resource_not_found_exception());
    let cancelled = queues.pair.sqs.cancel_message_move_task().task_handle("unknown").send().await.unwrap_err();
    assert!(cancelled.into_service_error().is_resource_not_found_exception());
}
