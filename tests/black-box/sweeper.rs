//! The sweeper: what the stream did not get out, published by any number of sweepers, each entry by one.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use harness::{CUSTOMER_MAPPING, Fault, STREAM_MAPPING, Stack, announcement, switched_off, template_without};
use local::Options;
use serde_json::json;

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let grace = [("BELFRY_OUTBOX_GRACE", "0s")];
    pairs.iter().chain(&grace).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Without the stream: whatever gets out, the sweeper got out.
async fn without_stream(pairs: &[(&str, &str)]) -> Stack {
    let template = Some(template_without(STREAM_MAPPING));
    Stack::behind_a_proxy_with(Options { template, settings: settings(pairs), ..Options::default() }).await
}

async fn hand_in(stack: &Stack, events: usize) {
    let source = stack.source().await;
    let all: Vec<_> = (0..events).map(|n| announcement(&format!("e-{n}"), "u-1", &format!("t-{n}"))).collect();
    for list in all.chunks(25) {
        assert_eq!(source.hand_in(&json!(list)).await.status, reqwest::StatusCode::ACCEPTED);
    }
}

#[tokio::test]
async fn sweepers_side_by_side_publish_each_overdue_entry_once() {
    // Neither the stream publishes nor does anybody read: the queue holds what the sweepers sent.
    let both = switched_off(&template_without(STREAM_MAPPING), CUSTOMER_MAPPING);
    let stack = Stack::with(Options { template: Some(both), settings: settings(&[]), ..Options::default() }).await;
    hand_in(&stack, 300).await;
    let published: u64 = join_all((0..8).map(|_| stack.sweep())).await.into_iter().sum();
    assert_eq!(published + stack.sweep().await, 300);
    assert_eq!(stack.queued("fanout-customer").await, 300, "no entry is sent by two sweepers");
    assert_eq!(stack.column("events", "status").await, vec!["PUBLISHED"; 300]);
    assert_eq!(stack.sweep().await, 0);
}

#[tokio::test]
async fn what_the_stream_has_time_for_is_left_to_it() {
    let template = Some(template_without(STREAM_MAPPING));
    let stack = Stack::with(Options { template, ..Options::default() }).await;
    hand_in(&stack, 3).await;
    assert_eq!(stack.sweep().await, 0, "within the grace");
    assert!(stack.operator().await.all("/v1/outbox?status=OVERDUE", "events").await.is_empty());
}

#[tokio::test]
async fn a_live_lease_is_respected_and_an_ended_one_is_taken_over() {
    let stack = without_stream(&[]).await;
    hand_in(&stack, 1).await;
    let operator = stack.operator().await;
    assert_eq!(operator.all("/v1/outbox?status=OVERDUE", "events").await.len(), 1);
    // A sweeper that claims and is never heard of again.
    stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::HeldBefore]);
    let lost = stack.sweep();
    tokio::select! {
        published = lost => panic!("not held, but published {published}"),
        () = stack.sqs_proxy().held() => {}
    }
    stack.sqs_proxy().mend();
    let held = operator.all("/v1/outbox?status=IN_FLIGHT", "events").await;
    assert_eq!(held.len(), 1);
    assert!(held[0]["locked_by"].is_string() && held[0]["lease_until"].is_string(), "{}", held[0]);
    assert_eq!(stack.sweep().await, 0, "the lease runs");
    let refused = operator.order("/v1/outbox/e-0/republish", "r").await;
    assert_eq!(refused.code(), "CONTENDED", "{}", refused.text);

    end_lease(&stack).await;
    assert_eq!(stack.sweep().await, 1, "the lease has ended");
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["t-0"]);
}

/// Moves the end of the lease, which the test will not wait for, to the past.
async fn end_lease(stack: &Stack) {
    let past = AttributeValue::S("2020-01-01T00:00:00.000Z".to_owned());
    let update = stack.dynamodb().await.update_item().table_name("belfry-local-events");
    let update = update.key("event_id", AttributeValue::S("e-0".to_owned()));
    let update = update.update_expression("SET lease_until = :past, due_at = :past");
    update.expression_attribute_values(":past", past).send().await.expect("the lease ends");
}

#[tokio::test]
async fn a_sweeper_whose_lease_has_ended_does_not_finalise_what_another_holds() {
    let stack = without_stream(&[]).await;
    hand_in(&stack, 1).await;
    // The claim passes, the finalisation is held until another sweeper has taken the entry over.
    stack.proxy().break_after("UpdateItem", 1, Fault::HeldBefore);
    let first = stack.sweep();
    let second = async {
        stack.proxy().held().await;
        stack.proxy().mend();
        end_lease(&stack).await;
        stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::HeldBefore]);
        tokio::select! {
            published = stack.sweep() => panic!("not held, but published {published}"),
            () = stack.sqs_proxy().held() => {}
        }
    };
    // The first one's call times out and is tried again, and finds that the entry is another's.
    let (published, ()) = tokio::join!(first, second);
    assert_eq!(published, 0);
    assert_eq!(stack.column("events", "status").await, ["IN_FLIGHT"]);
    stack.sqs_proxy().mend();
    end_lease(&stack).await;
    assert_eq!(stack.sweep().await, 1);
    stack.idle().await;
    assert_eq!(stack.count("notifications").await, 1);
}

#[tokio::test]
async fn a_queue_that_is_away_postpones_and_does_not_count() {
    let stack = without_stream(&[("BELFRY_BACKOFF_BASE", "1ms"), ("BELFRY_OUTBOX_MAX_ATTEMPTS", "1")]).await;
    hand_in(&stack, 5).await;
    stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::NotSent; 30]);
    for _ in 0..3 {
        assert_eq!(stack.sweep().await, 0);
    }
    let operator = stack.operator().await;
    let overdue = operator.all("/v1/outbox?status=OVERDUE", "events").await;
    assert_eq!(overdue.len(), 5);
    for entry in &overdue {
        assert_eq!((entry["status"].as_str(), entry["attempt_count"].as_u64()), (Some("PENDING"), Some(0)), "{entry}");
        assert!(entry["last_error"].as_str().is_some_and(|error| error.starts_with("queue unavailable")), "{entry}");
        assert!(entry["next_retry_at"].is_string(), "{entry}");
    }
    stack.sqs_proxy().mend();
    while stack.column("events", "status").await != vec!["PUBLISHED"; 5] {
        stack.sweep().await;
    }
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 5);
}

#[tokio::test]
async fn anomalies_are_counted_and_kept() {
    let stack = without_stream(&[]).await;
    hand_in(&stack, 2).await;
    stack.inject("fanout-customer", "poison").await;
    stack.idle().await;
    let event = json!({"function": "SweepFunction", "event": {"task": "anomalies"}});
    let answer = stack.call(reqwest::Method::POST, "/local/invoke", Some(event)).await.json();
    assert_eq!(answer["response"]["anomalies"], 3, "{answer}");
    assert_eq!((stack.metric("OutboxOverdue").await, stack.metric("OpenDeadLetters").await), (2, 1));
    assert_eq!((stack.count("events").await, stack.count("dead-letters").await), (2, 1));
}

#[tokio::test]
async fn a_claim_whose_answer_is_lost_is_still_a_claim() {
    let stack = without_stream(&[]).await;
    hand_in(&stack, 1).await;
    stack.proxy().break_next("UpdateItem", &[Fault::AnswerLost]);
    assert_eq!(stack.sweep().await, 1, "and need not wait for its own lease to end");
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["t-0"]);
}
