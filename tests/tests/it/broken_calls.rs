//! What no engine does by itself: conflicts, throttling, lost calls and lost answers on the way to DynamoDB.

use reqwest::StatusCode;
use tests::{Fault, Stack};

const ALL: [&str; 4] = ["TransactWriteItems", "BatchGetItem", "GetItem", "PutItem"];

#[tokio::test]
async fn a_grant_that_creates_a_replay_and_a_key_conflict_are_one_round_trip_each() {
    let stack = Stack::behind_a_proxy().await;
    let shop = stack.shop().await;
    stack.idle().await;
    let proxy = stack.proxy();
    // The relay and the fan-out use the same tables, so each count is taken before they wake up from it.
    proxy.take_calls(&ALL);
    assert_eq!(shop.grant("k", "u-1", "premium").await.status, StatusCode::OK);
    stack.idle().await;
    // The grant itself and the fan-out's transaction; one batch get by the relay; the host's checkpoint.
    assert_eq!(proxy.take_calls(&["TransactWriteItems"]), 2);
    assert_eq!(proxy.take_calls(&["BatchGetItem"]), 1);
    proxy.take_calls(&ALL);

    assert!(shop.grant("k", "u-1", "premium").await.replayed);
    stack.idle().await;
    assert_eq!(proxy.take_calls(&ALL), 1);

    assert_eq!(shop.grant("k", "u-1", "other").await.code(), "IDEMPOTENCY_KEY_CONFLICT");
    stack.idle().await;
    assert_eq!(proxy.take_calls(&ALL), 1);
}

#[tokio::test]
async fn a_broken_transaction_is_tried_again_and_takes_effect_once() {
    let stack = Stack::behind_a_proxy().await;
    let shop = stack.shop().await;
    let faults =
        [Fault::Conflict, Fault::InProgress, Fault::Throttled, Fault::Internal, Fault::NotSent, Fault::AnswerLost];
    for (index, fault) in faults.into_iter().enumerate() {
        let (user, key) = (format!("u-{index}"), format!("k-{index}"));
        stack.proxy().break_next("TransactWriteItems", &[fault; 3]);
        let granted = shop.grant(&key, &user, "premium").await;
        assert_eq!(granted.status, StatusCode::OK, "{fault:?}: {}", granted.text);
        // An answer that got lost is the same as a race: the second try meets what the first one wrote.
        assert_eq!(granted.replayed, fault == Fault::AnswerLost, "{fault:?}");
        stack.idle().await;
        assert_eq!(stack.count("events").await, index + 1, "{fault:?}");
        assert_eq!(stack.count("idempotency-keys").await, index + 1, "{fault:?}");
        assert_eq!(stack.customer(&user).await.inbox_titles().await, ["premium is yours"], "{fault:?}");
    }
}

#[tokio::test]
async fn patience_ends_and_says_how() {
    let stack = Stack::behind_a_proxy().await;
    let shop = stack.shop().await;
    for (fault, code) in
        [(Fault::Conflict, "CONTENDED"), (Fault::Throttled, "UNAVAILABLE"), (Fault::NotSent, "UNAVAILABLE")]
    {
        stack.proxy().break_next("TransactWriteItems", &[fault; 8]);
        let refused = shop.grant("k", "u-1", "premium").await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::SERVICE_UNAVAILABLE, code), "{fault:?}");
    }
    // Nothing was stored, so the same request takes effect once the trouble is over.
    assert_eq!(stack.count("entitlements").await, 0);
    let granted = shop.grant("k", "u-1", "premium").await;
    assert_eq!((granted.status, granted.replayed), (StatusCode::OK, false));
}

#[tokio::test]
async fn a_relay_that_cannot_look_or_mark_publishes_in_the_end() {
    for operation in ["BatchGetItem", "UpdateItem"] {
        let stack = Stack::behind_a_proxy().await;
        // More faults than one invocation has patience for, so that the mapping has to come back.
        stack.proxy().break_next(operation, &[Fault::NotSent; 9]);
        stack.shop().await.grant("k", "u-1", "premium").await;
        stack.idle().await;
        assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["premium is yours"], "{operation}");
        let events = stack.dynamodb().await.scan().table_name("belfry-events").send().await.expect("events");
        assert_eq!(events.items()[0]["status"].as_s().expect("text"), "PUBLISHED", "{operation}");
        assert!(!events.items()[0].contains_key("unpublished"), "a published entry leaves the index");
    }
}
