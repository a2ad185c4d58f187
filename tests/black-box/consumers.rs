//! The frame of every consumer: what may pass comes back alone, what never will is a dead letter, and nothing twice.

use harness::{Fault, Stack, announcement};
use local::Options;
use reqwest::StatusCode;
use serde_json::json;

/// More faults than the ledger has patience for.
const OUTAGE: [Fault; 8] = [Fault::Throttled; 8];

async fn patient(receives: &str) -> Stack {
    let settings = [("BELFRY_RECEIVE_COUNT", receives), ("BELFRY_BACKOFF_BASE", "1ms")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Stack::behind_a_proxy_with(Options { settings, ..Options::default() }).await
}

#[tokio::test]
async fn what_may_pass_comes_back_after_its_backoff_and_is_done_once() {
    let stack = patient("5").await;
    let source = stack.source().await;
    // The door puts one item; the consumer's transaction does not get through, twice.
    stack.proxy().break_next("TransactWriteItems", &[OUTAGE, OUTAGE].concat());
    assert_eq!(source.hand_in(&announcement("e", "u-1", "t")).await.status, StatusCode::ACCEPTED);
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["t"]);
    assert_eq!(stack.count("dead-letters").await, 0);
    assert_eq!(stack.metric("Retried").await, 2, "it came back twice, and not after minutes of the queue's timeout");
}

#[tokio::test]
async fn on_its_last_receive_the_consumer_writes_the_dead_letter_with_the_reason() {
    let stack = patient("2").await;
    let source = stack.source().await;
    stack.proxy().break_next("TransactWriteItems", &[OUTAGE, OUTAGE].concat());
    assert_eq!(source.hand_in(&announcement("e", "u-1", "t")).await.status, StatusCode::ACCEPTED);
    stack.idle().await;
    let letters = stack.operator().await.all("/v1/dead-letters", "dead_letters").await;
    assert_eq!(letters.len(), 1);
    let reason = letters[0]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("given up after 2 receives: unavailable after 8 attempts"), "{reason}");
    assert_eq!((letters[0]["receive_count"].as_u64(), letters[0]["event_id"].as_str()), (Some(2), Some("e")));
    assert_eq!(stack.count("notifications").await, 0);
}

#[tokio::test]
async fn one_poisonous_message_of_a_batch_burns_no_retries_and_holds_nobody_up() {
    let stack = Stack::start().await;
    let source = stack.source().await;
    for n in 0..5 {
        stack.inject("fanout-customer", &format!("poison {n}")).await;
        source.hand_in(&announcement(&format!("e-{n}"), "u-1", &format!("t-{n}"))).await;
    }
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 5);
    let letters = stack.operator().await.all("/v1/dead-letters", "dead_letters").await;
    assert_eq!(letters.len(), 5);
    for letter in &letters {
        assert_eq!(letter["receive_count"], 1, "no retries burnt: {letter}");
        assert_eq!(
            (letter["queue"].as_str(), letter["consumer"].as_str()),
            (Some("fanout-customer"), Some("fanout:CUSTOMER"))
        );
        assert!(letter["reason"].as_str().expect("a reason").starts_with("not a CloudEvents envelope"), "{letter}");
        assert!(letter["body"].as_str().expect("a body").starts_with("poison"), "{letter}");
    }
    assert_eq!((stack.metric("DeadLetters").await, stack.metric("Retried").await), (5, 0));
}

#[tokio::test]
async fn a_broken_invariant_names_itself_in_the_reason() {
    let stack = Stack::start().await;
    let envelope = |event_type: &str, data: serde_json::Value| {
        json!({
            "specversion": "1.0", "id": format!("e-{event_type}"), "source": "/test", "type": event_type, "subject": "s",
            "time": "2026-01-01T00:00:00Z", "datacontenttype": "application/json", "aggregatetype": "A",
            "recordedat": "2026-01-01T00:00:00Z", "data": data,
        })
        .to_string()
    };
    stack.inject("fanout-customer", &envelope("Unrouted", json!({}))).await;
    stack.inject("fanout-customer", &envelope("EntitlementGranted", json!({"stock_keeping_unit": "s"}))).await;
    stack.inject("fanout-customer", &envelope("EntitlementRevoked", json!({"user_id": "u"}))).await;
    let newer = envelope("EntitlementGranted", json!({})).replace("\"1.0\"", "\"2.0\"");
    stack.inject("fanout-customer", &newer).await;
    stack.idle().await;
    let mut reasons: Vec<String> = stack.column("dead-letters", "reason").await;
    reasons.iter_mut().for_each(|reason| reason.truncate(40));
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    for expected in [
        "no route from Unrouted",
        "payload field user_id is missing",
        "template EntitlementRevoked/CUSTOMER",
        "unknown specversion",
    ] {
        assert!(reasons.iter().any(|reason| reason.contains(expected)), "{expected}: {reasons:?}");
    }
}

#[tokio::test]
async fn a_duplicate_is_counted_and_acknowledged() {
    let stack = Stack::start().await;
    stack.source().await.hand_in(&announcement("e", "u-1", "t")).await;
    stack.idle().await;
    stack.redeliver("e", 3).await;
    stack.idle().await;
    assert_eq!((stack.metric("Processed").await, stack.metric("DuplicatesSkipped").await), (1, 3));
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["t"]);
}
