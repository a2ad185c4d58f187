//! Events that source systems hand in.

use futures_util::future::join_all;
use harness::{Stack, announcement};
use reqwest::StatusCode;
use serde_json::{Value, json};

#[tokio::test]
async fn an_event_handed_in_again_is_accepted_and_has_no_second_effect() {
    let stack = Stack::start().await;
    let source = stack.source().await;
    let event = announcement("crm-1", "u-1", "Spring sale");
    let first = source.hand_in(&event).await;
    assert_eq!((first.status, first.json()), (StatusCode::ACCEPTED, json!({"event_id": "crm-1", "duplicate": false})));
    stack.idle().await;
    let again = source.hand_in(&event).await;
    assert_eq!((again.status, again.json()), (StatusCode::ACCEPTED, json!({"event_id": "crm-1", "duplicate": true})));
    // The order of fields and white space do not make it another event.
    let reordered = serde_json::from_str::<Value>(&serde_json::to_string_pretty(&event).expect("text")).expect("json");
    assert_eq!(source.hand_in(&reordered).await.status, StatusCode::ACCEPTED);
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["Spring sale"]);
    assert_eq!(stack.count("events").await, 1);
    assert_eq!((stack.metric("EventsAccepted").await, stack.metric("EventsHandedInAgain").await), (1, 2));
}

#[tokio::test]
async fn the_same_id_with_another_content_is_a_conflict_and_changes_nothing() {
    let stack = Stack::start().await;
    let source = stack.source().await;
    source.hand_in(&announcement("crm-1", "u-1", "Spring sale")).await;
    let mut other_time = announcement("crm-1", "u-1", "Spring sale");
    other_time["occurred_at"] = json!("2026-01-01T00:00:00Z");
    let mut other_aggregate = announcement("crm-1", "u-1", "Spring sale");
    other_aggregate["aggregate_id"] = json!("c-2");
    for other in [announcement("crm-1", "u-1", "Summer sale"), other_time, other_aggregate] {
        let refused = source.hand_in(&other).await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::CONFLICT, "EVENT_CONFLICT"), "{other}");
    }
    // Nor can it take the id of an event of our own.
    stack.shop().await.grant("k", "u-2", "premium").await;
    let ours = stack.column("events", "event_id").await.into_iter().find(|id| id != "crm-1").expect("our event");
    assert_eq!(source.hand_in(&announcement(&ours, "u-1", "Mine")).await.code(), "EVENT_CONFLICT");
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["Spring sale"]);
    assert_eq!(stack.count("events").await, 2);
}

#[tokio::test]
async fn a_list_is_taken_whole_or_not_at_all() {
    let stack = Stack::start().await;
    let source = stack.source().await;
    source.hand_in(&announcement("e-1", "u-1", "one")).await;
    let list = |titles: &[(&str, &str)]| -> Value {
        titles.iter().map(|(id, title)| announcement(id, "u-1", title)).collect::<Vec<_>>().into()
    };
    let refused = source.hand_in(&list(&[("e-0", "zero"), ("e-1", "another one"), ("e-2", "two")])).await;
    assert_eq!((refused.status, refused.code().as_str()), (StatusCode::CONFLICT, "EVENT_CONFLICT"));
    assert_eq!(refused.json()["details"][0]["field"], "[1].event_id", "{}", refused.text);
    assert_eq!(stack.count("events").await, 1, "nothing of a refused list is stored");

    let taken = source.hand_in(&list(&[("e-0", "zero"), ("e-1", "one"), ("e-2", "two")])).await;
    assert_eq!(taken.status, StatusCode::ACCEPTED);
    assert_eq!(taken.json()["events"][1], json!({"event_id": "e-1", "duplicate": true}));
    assert_eq!(taken.json()["events"][2], json!({"event_id": "e-2", "duplicate": false}));
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 3);
}

#[tokio::test]
async fn forty_at_once_with_the_same_id_are_one_event() {
    let stack = Stack::start().await;
    let source = stack.source().await;
    let answers = join_all((0..40).map(|n| {
        let event = announcement("crm-1", "u-1", if n % 2 == 0 { "even" } else { "odd" });
        let source = source.clone();
        async move { source.hand_in(&event).await }
    }))
    .await;
    stack.idle().await;
    let accepted: Vec<usize> = (0..40).filter(|n| answers[*n].status == StatusCode::ACCEPTED).map(|n| n % 2).collect();
    assert_eq!(accepted.len(), 20, "one content wins, and everybody who has the other is told");
    assert!(accepted.iter().all(|parity| *parity == accepted[0]));
    let first = answers.iter().filter(|answer| answer.json()["duplicate"] == false).count();
    assert_eq!(first, 1);
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 1);
}

#[tokio::test]
async fn what_may_not_be_handed_in_is_refused_and_named() {
    let stack = Stack::start().await;
    let source = stack.source().await;
    let of_type = |event_type: &str| {
        let mut event = announcement("e", "u-1", "t");
        event["event_type"] = json!(event_type);
        event
    };
    for own in ["OrderPaid", "EntitlementGranted", "ReservationAccepted", "DeadLetterRedriven", "NotificationActed"] {
        let refused = source.hand_in(&of_type(own)).await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::FORBIDDEN, "FORBIDDEN"), "{own}");
    }
    let unknown = source.hand_in(&of_type("Unheard")).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (StatusCode::BAD_REQUEST, "BAD_REQUEST"));
    assert!(unknown.json()["message"].as_str().expect("text").contains("Unheard"));
    let mut nameless = announcement("e", "u-1", "t");
    nameless["payload"] = json!({"title": "t", "body": "b", "audience": "CUSTOMER"});
    let mut strange = announcement("e", "u-1", "t");
    strange["surprise"] = json!(1);
    let mut long_id = announcement(&"x".repeat(129), "u-1", "t");
    long_id["occurred_at"] = Value::Null;
    for (event, field) in [(nameless, "payload.user_id"), (strange, "surprise"), (long_id, "event_id")] {
        let refused = source.hand_in(&event).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{event}");
        assert_eq!(refused.json()["details"][0]["field"], field, "{}", refused.text);
    }
    assert_eq!(stack.count("events").await, 0);
}

#[tokio::test]
async fn a_broken_call_leaves_one_event() {
    use harness::Fault;
    let stack = Stack::behind_a_proxy().await;
    let source = stack.source().await;
    for (n, fault) in [Fault::AnswerLost, Fault::NotSent, Fault::Conflict, Fault::Throttled].into_iter().enumerate() {
        stack.proxy().break_next("PutItem", &[fault; 2]);
        let accepted = source.hand_in(&announcement(&format!("e-{n}"), "u-1", &format!("t-{n}"))).await;
        assert_eq!(accepted.status, StatusCode::ACCEPTED, "{fault:?}: {}", accepted.text);
    }
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 4);
}

#[tokio::test]
async fn a_source_cannot_write_into_the_history_of_what_is_ours() {
    let stack = Stack::start().await;
    stack.shop().await.grant("k", "u-1", "premium").await;
    let mut forged = announcement("forged", "u-1", "t");
    forged["aggregate_type"] = json!("Entitlement");
    forged["aggregate_id"] = json!("u-1#premium");
    assert_eq!(stack.source().await.hand_in(&forged).await.status, StatusCode::ACCEPTED);
    stack.idle().await;
    let history = stack.customer("u-1").await.get("/v1/users/u-1/entitlements/premium/history").await;
    assert_eq!(history.status, StatusCode::OK, "{}", history.text);
    assert_eq!(history.json()["events"].as_array().map(Vec::len), Some(1));
}
