//! The relay: from the stream to every subscribed queue, whatever happens to either.

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{CUSTOMER_MAPPING, Fault, Stack, announcement, template_without};
use local::Options;
use reqwest::StatusCode;
use serde_json::json;

/// A stack whose customers' queue nobody reads: every message stays where it can be counted.
async fn unread_behind_a_proxy() -> Stack {
    let template = Some(template_without(CUSTOMER_MAPPING));
    Stack::behind_a_proxy_with(Options { template, ..Options::default() }).await
}

async fn hand_in(stack: &Stack, events: std::ops::Range<usize>) {
    let list: Vec<_> = events.map(|n| announcement(&format!("e-{n}"), "u-1", &format!("t-{n}"))).collect();
    let accepted = stack.source().await.hand_in(&json!(list)).await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text);
}

#[tokio::test]
async fn of_a_batch_that_gets_out_in_part_only_the_rest_is_sent_again() {
    let stack = unread_behind_a_proxy().await;
    stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::PartlyAway; 3]);
    hand_in(&stack, 0..20).await;
    stack.idle().await;
    assert_eq!(stack.queued("fanout-customer").await, 20, "each event once");
    assert_eq!(stack.column("events", "status").await, vec!["PUBLISHED"; 20]);
}

#[tokio::test]
async fn a_redelivered_record_is_not_published_again() {
    let stack = unread_behind_a_proxy().await;
    hand_in(&stack, 0..1).await;
    stack.idle().await;
    stack.sqs_proxy().take_calls(&["SendMessageBatch"]);
    assert_eq!(stack.redeliver("e-0", 5).await, 5);
    assert_eq!(stack.sqs_proxy().take_calls(&["SendMessageBatch"]), 0);
    assert_eq!(stack.queued("fanout-customer").await, 1);
}

#[tokio::test]
async fn a_throttled_queue_or_a_lost_answer_postpones_without_counting() {
    for fault in [Fault::Throttled, Fault::AnswerLost, Fault::NotSent] {
        let stack = Stack::behind_a_proxy().await;
        stack.sqs_proxy().break_next("SendMessageBatch", &[fault; 7]);
        hand_in(&stack, 0..5).await;
        stack.idle().await;
        assert_eq!(stack.column("events", "status").await, vec!["PUBLISHED"; 5], "{fault:?}");
        let attempts = stack.items("events").await.into_iter().map(|item| item["attempt_count"].clone());
        assert!(attempts.into_iter().all(|count| count == AttributeValue::N("0".to_owned())), "{fault:?}");
        assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 5, "{fault:?}");
        assert_eq!(stack.count("notifications").await, 5, "{fault:?}");
    }
}

#[tokio::test]
async fn what_a_queue_refuses_holds_nobody_up_counts_and_is_an_operators_case_in_the_end() {
    let settings = [("BELFRY_OUTBOX_MAX_ATTEMPTS", "3"), ("BELFRY_BACKOFF_BASE", "1ms")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let stack = Stack::behind_a_proxy_with(Options { settings, ..Options::default() }).await;
    hand_in(&stack, 1..2).await;
    stack.idle().await;
    stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::PartlyRefused]);
    hand_in(&stack, 0..1).await;
    stack.idle().await;
    hand_in(&stack, 2..3).await;
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 2, "the shard goes on without it");
    stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::PartlyRefused; 2]);
    let operator = stack.operator().await;
    let failed = async || operator.all("/v1/outbox?status=FAILED", "events").await;
    while failed().await.is_empty() {
        stack.sweep().await;
    }
    stack.idle().await;
    let case = &failed().await[0];
    assert_eq!((case["attempt_count"].as_u64(), case["status"].as_str()), (Some(3), Some("FAILED")), "{case}");
    assert_eq!(case["last_error"], "queue refused the message: InvalidMessageContents");
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 2, "the others got out");
    assert_eq!(stack.sweep().await, 0, "a failed entry is nobody's but the operator's");

    let event_id = case["event_id"].as_str().expect("an id");
    let republished = operator.order(&format!("/v1/outbox/{event_id}/republish"), "r").await;
    assert_eq!(republished.json(), json!({"event_id": event_id, "status": "PENDING"}));
    assert!(operator.order(&format!("/v1/outbox/{event_id}/republish"), "r").await.replayed);
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 3);
    assert!(failed().await.is_empty());
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_is_failed_at_once_and_shown() {
    let stack = Stack::start().await;
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = stack.dynamodb().await.put_item().table_name("belfry-local-events").item("event_id", text("broken"));
    let put = put
        .item("status", text("PENDING"))
        .item("payload", text("{"))
        .item("attempt_count", AttributeValue::N("0".to_owned()));
    put.send().await.expect("the entry is written");
    hand_in(&stack, 0..1).await;
    stack.idle().await;
    let operator = stack.operator().await;
    let failed = operator.all("/v1/outbox?status=FAILED", "events").await;
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0]["event_id"].as_str(), failed[0]["attempt_count"].as_u64()), (Some("broken"), Some(0)));
    assert!(failed[0]["last_error"].as_str().expect("a reason").contains("missing field"), "{}", failed[0]);
    assert_eq!(stack.metric("OutboxFailed").await, 1);
    assert_eq!(operator.get("/v1/events/broken").await.json()["status"], "FAILED");
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["t-0"], "it holds nobody up");
}

#[tokio::test]
async fn a_published_event_can_be_republished_and_tells_nobody_twice() {
    let stack = Stack::start().await;
    let operator = stack.operator().await;
    assert_eq!(operator.order("/v1/outbox/e-0/republish", "r").await.code(), "NOT_FOUND");
    hand_in(&stack, 0..1).await;
    stack.idle().await;
    // The same key: that there was no such event is not an answer to be kept.
    assert_eq!(operator.order("/v1/outbox/e-0/republish", "r").await.status, StatusCode::OK);
    stack.idle().await;
    assert_eq!(stack.metric("DuplicatesSkipped").await, 1, "it came again");
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["t-0"]);
    let story = operator.get("/v1/events/e-0").await.json();
    assert_eq!(story["status"], "PUBLISHED");
    let stages = story["story"].as_array().expect("stages").iter().map(|stage| stage["stage"].as_str().expect("text"));
    assert!(stages.into_iter().any(|stage| stage == "REPUBLISHED"), "{story}");
}

#[tokio::test]
async fn a_queue_that_refuses_everything_for_a_while_gets_everything_in_the_end() {
    let stack = Stack::behind_a_proxy().await;
    stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::NotSent; 10_000]);
    for n in 0..4 {
        hand_in(&stack, n * 25..(n + 1) * 25).await;
    }
    // It is away for as long as it takes the relay to come back a few times.
    while stack.sqs_proxy().calls("SendMessageBatch") < 12 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 0);
    stack.sqs_proxy().mend();
    stack.idle().await;
    assert_eq!(stack.column("events", "status").await, vec!["PUBLISHED"; 100]);
    assert_eq!(stack.count("notifications").await, 100, "all delivered, without an operator");
    assert_eq!(stack.count("dead-letters").await, 0);
}

#[tokio::test]
async fn past_the_marks_retention_a_republication_is_refused() {
    let stack = Stack::start().await;
    hand_in(&stack, 0..1).await;
    stack.idle().await;
    let long_ago = domain::Time::now().minus(std::time::Duration::from_secs(30 * 86_400 + 1)).to_string();
    let update = stack.dynamodb().await.update_item().table_name("belfry-local-events");
    let update = update.key("event_id", AttributeValue::S("e-0".to_owned())).update_expression("SET created_at = :old");
    update.expression_attribute_values(":old", AttributeValue::S(long_ago)).send().await.expect("it is old now");
    let refused = stack.operator().await.order("/v1/outbox/e-0/republish", "r").await;
    assert_eq!((refused.status, refused.code().as_str()), (StatusCode::CONFLICT, "TOO_OLD"));
}
