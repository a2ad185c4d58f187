//! What no engine does by itself: conflicts, throttling, lost calls and lost answers on the way to DynamoDB.

use harness::{Fault, SENDS_MAPPING, STREAM_MAPPING, Stack, switched_off, template_without};
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::restaurant::{path, requested, staff};

/// Everything that a command may call.
const ALL: [&str; 8] = [
    "TransactWriteItems",
    "TransactGetItems",
    "BatchGetItem",
    "BatchWriteItem",
    "GetItem",
    "PutItem",
    "UpdateItem",
    "Query",
];

fn reservation() -> Value {
    json!({"customer_id": "ugo", "restaurant_id": "r-1", "party_size": 2, "slot_time": "2999-12-31T20:00:00Z"})
}

/// A stack without the relay, so that every call is the command's own.
async fn without_the_relay() -> Stack {
    // Nor the sends', whose poller keeps its place in a table.
    let template = Some(switched_off(&template_without(STREAM_MAPPING), SENDS_MAPPING));
    Stack::behind_a_proxy_with(Options { template, ..Options::default() }).await
}

#[tokio::test]
async fn a_command_that_creates_is_one_round_trip_one_that_changes_two_and_a_replay_or_a_conflict_one() {
    let stack = without_the_relay().await;
    let shop = stack.shop().await;
    let send = async |path: &str, key: &str, unit: &str| {
        stack.proxy().take_calls(&ALL);
        let body = json!({"user_id": "u", "stock_keeping_unit": unit, "reason": "r", "purchase_id": "p"});
        let answer = shop.command(&format!("/v1/entitlements/{path}"), key, &body).await;
        (answer.status.as_u16(), answer.replayed, stack.proxy().take_calls(&ALL))
    };
    let steps = [
        ("a grant that creates", send("grants", "k1", "s").await, (200, false, 1)),
        ("its replay", send("grants", "k1", "s").await, (200, true, 1)),
        ("its key for another request", send("grants", "k1", "t").await, (409, false, 1)),
        ("a revoke", send("revokes", "k2", "s").await, (200, false, 2)),
        ("its replay", send("revokes", "k2", "s").await, (200, true, 1)),
        ("its key for another request", send("revokes", "k2", "t").await, (409, false, 1)),
        ("a grant after the revoke", send("grants", "k3", "s").await, (200, false, 2)),
        ("a refused grant", send("grants", "k4", "s").await, (409, false, 2)),
        ("its replay", send("grants", "k4", "s").await, (409, true, 1)),
        ("a refused revoke", send("revokes", "k5", "t").await, (409, false, 2)),
        ("its replay", send("revokes", "k5", "t").await, (409, true, 1)),
    ];
    for (step, seen, expected) in steps {
        assert_eq!(seen, expected, "{step}: status, replayed, round trips");
    }
}

#[tokio::test]
async fn a_reservation_is_one_round_trip_to_request_two_to_decide_and_one_to_read_for_staff_too() {
    let stack = without_the_relay().await;
    stack.recipient("RESTAURANT_USER", "rosa", json!({"name": "Rosa", "restaurant_id": "r-1"})).await;
    let (ugo, rosa) = (stack.customer("ugo").await, stack.caller("rosa", "RESTAURANT_USER", &[]).await);
    stack.proxy().take_calls(&ALL);
    let requested = ugo.command("/v1/reservations", "k", &reservation()).await;
    assert_eq!((requested.status, stack.proxy().take_calls(&ALL)), (StatusCode::CREATED, 1));
    let path = format!("/v1/reservations/{}", requested.json()["reservation_id"].as_str().expect("an id"));
    let calls = |answer: harness::Answer| (answer.status.as_u16(), stack.proxy().take_calls(&ALL));
    assert_eq!(calls(rosa.order(&format!("{path}/accept"), "k").await), (200, 2));
    assert_eq!(calls(rosa.order(&format!("{path}/accept"), "k").await), (200, 1), "its replay");
    assert_eq!(calls(rosa.order(&format!("{path}/reject"), "l").await), (409, 2), "a refusal");
    assert_eq!(calls(rosa.get(&path).await), (200, 1));
}

#[tokio::test]
async fn what_is_done_in_an_inbox_takes_as_many_round_trips_as_it_says() {
    // The sweeper publishes in the relay's place, when it is told to.
    let template = Some(template_without(STREAM_MAPPING));
    let settings = [("BELFRY_OUTBOX_GRACE".to_owned(), "0s".to_owned())].into();
    let stack = Stack::behind_a_proxy_with(Options { template, settings, ..Options::default() }).await;
    let all = staff(&stack, 2).await;
    let told = async |key: &str| {
        requested(&stack, key).await;
        assert_eq!(stack.sweep().await, 1);
        stack.idle().await;
        (path(&all[0]).await, path(&all[1]).await)
    };
    let ((older, colleagues), (newer, _)) = (told("k1").await, told("k2").await);
    stack.proxy().take_calls(&ALL);
    let calls = |answer: harness::Answer| (answer.status.as_u16(), answer.replayed, stack.proxy().take_calls(&ALL));
    let act = async |path: &str, key: &str, action: &str| {
        all[0].command(&format!("{path}/actions"), key, &json!({"action_type": action})).await
    };
    assert_eq!(calls(all[0].get("/v1/inbox").await), (200, false, 5));
    // Reading and acting look for those of the group who listen: what is shared, who they are, how each of them reads,
    // and the sockets of each.
    let group = 3 + all.len();
    assert_eq!(calls(all[0].order(&format!("{older}/read"), "r").await), (200, false, 3 + group));
    assert_eq!(calls(all[0].order(&format!("{older}/read"), "r").await), (200, true, 2));
    assert_eq!(calls(all[1].order(&format!("{colleagues}/read"), "r").await), (200, false, 6), "for oneself alone");
    assert_eq!(calls(all[0].order("/v1/inbox/read-all", "a").await), (200, false, 1));
    assert_eq!(calls(all[0].order("/v1/inbox/read-all", "b").await), (200, false, 1));
    assert_eq!(calls(all[0].get("/v1/inbox").await), (200, false, 4), "nothing shared is unread");
    assert_eq!(calls(all[0].put("/v1/inbox/preferences", &json!({"preferences": []})).await), (200, false, 1));
    assert_eq!(calls(act(&older, "d", "DISMISSED").await), (200, false, 3 + group));
    assert_eq!(calls(act(&older, "e", "DISMISSED").await), (409, false, 3));
    assert_eq!(calls(act(&newer, "c", "CONFIRMED").await), (200, false, 4 + group));
    assert_eq!(calls(act(&newer, "c", "CONFIRMED").await), (200, true, 3));
}

#[tokio::test]
async fn a_broken_request_makes_one_reservation() {
    let stack = Stack::behind_a_proxy().await;
    let ugo = stack.customer("ugo").await;
    for (index, fault) in [Fault::Conflict, Fault::NotSent, Fault::AnswerLost].into_iter().enumerate() {
        stack.proxy().break_next("TransactWriteItems", &[fault; 3]);
        let requested = ugo.command("/v1/reservations", &format!("k-{index}"), &reservation()).await;
        assert_eq!(requested.status, StatusCode::CREATED, "{fault:?}: {}", requested.text);
        assert_eq!(stack.count("reservations").await, index + 1, "{fault:?}");
        let id = requested.json()["reservation_id"].as_str().expect("an id").to_owned();
        assert!(stack.column("reservations", "reservation_id").await.contains(&id), "{fault:?}: the id is of this one");
    }
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
        // The retry after a lost answer recognises its own write, so the command is no replay.
        assert!(!granted.replayed, "{fault:?}");
        stack.idle().await;
        assert_eq!(stack.count("events").await, index + 1, "{fault:?}");
        assert_eq!(stack.count("idempotency-keys").await, index + 1, "{fault:?}");
        assert_eq!(stack.customer(&user).await.inbox_titles().await, ["premium is yours"], "{fault:?}");
    }
}

#[tokio::test]
async fn a_call_that_never_answers_is_given_up_and_tried_again() {
    let stack = Stack::behind_a_proxy().await;
    let shop = stack.shop().await;
    for (index, fault) in [Fault::HeldBefore, Fault::HeldAfter].into_iter().enumerate() {
        stack.proxy().break_next("TransactWriteItems", &[fault]);
        let granted = shop.grant(&format!("k-{index}"), &format!("u-{index}"), "premium").await;
        assert_eq!((granted.status, granted.replayed), (StatusCode::OK, false), "{fault:?}");
    }
    assert_eq!(stack.count("events").await, 2);
}

#[tokio::test]
async fn an_eviction_whose_answer_is_lost_is_still_an_eviction() {
    let stack = Stack::behind_a_proxy().await;
    stack.shop().await.grant("k", "u-1", "premium").await;
    let operator = stack.caller("omar", "ADMIN_USER", &["operate"]).await;
    stack.proxy().break_next("DeleteItem", &[Fault::AnswerLost]);
    let path = "/v1/idempotency-keys/k?caller=shop";
    assert_eq!(operator.send(operator.request(Method::DELETE, path)).await.status, StatusCode::NO_CONTENT);
    assert_eq!(stack.count("idempotency-keys").await, 0);
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
        let events = stack.dynamodb().await.scan().table_name("belfry-local-events").send().await.expect("events");
        assert_eq!(events.items()[0]["status"].as_s().expect("text"), "PUBLISHED", "{operation}");
        assert!(!events.items()[0].contains_key("unpublished"), "a published entry leaves the index");
    }
}

#[tokio::test]
async fn a_queue_out_of_reach_delays_an_event_and_loses_nothing() {
    for fault in [Fault::NotSent, Fault::AnswerLost, Fault::Internal] {
        let stack = Stack::behind_a_proxy().await;
        // The relay's client tries three times by itself; nine faults bring the mapping back three times.
        stack.sqs_proxy().break_next("SendMessageBatch", &[fault; 9]);
        stack.shop().await.grant("k", "u-1", "premium").await;
        stack.idle().await;
        assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["premium is yours"], "{fault:?}");
        assert_eq!(stack.count("notifications").await, 1, "{fault:?}");
    }
}
