//! Groups: a restaurant's staff, an agency's users, all admins; each of them told once, and nobody else.

use std::collections::BTreeMap;

use harness::{Fault, Stack};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

fn announcement(event_id: &str, to: &Value) -> Value {
    let mut payload = json!({"title": format!("title {event_id}"), "body": "All of it."});
    for (field, value) in to.as_object().expect("an object") {
        payload[field] = value.clone();
    }
    json!({
        "event_id": event_id, "event_type": "Announcement", "aggregate_type": "Campaign", "aggregate_id": "c-1",
        "payload": payload,
    })
}

/// How many notifications of which event each user of an audience has.
async fn told(stack: &Stack) -> BTreeMap<(String, String), usize> {
    let mut told = BTreeMap::new();
    for item in stack.items("notifications").await {
        let text = |name: &str| item[name].as_s().expect("text").clone();
        *told.entry((text("event_id"), text("recipient"))).or_default() += 1;
    }
    told
}

async fn staff(stack: &Stack, restaurant: &str, people: usize) {
    let person = |n: usize| (format!("{restaurant}-{n:03}"), json!({"name": "S", "restaurant_id": restaurant}));
    stack.recipients("RESTAURANT_USER", (0..people).map(person)).await;
}

#[tokio::test]
async fn each_of_a_restaurants_staff_is_told_once_and_nobody_else_is() {
    let stack = Stack::start().await;
    staff(&stack, "r-1", 25).await;
    staff(&stack, "r-2", 3).await;
    let source = stack.source().await;
    let event = announcement("e", &json!({"audience": "RESTAURANT_USER", "restaurant_id": "r-1"}));
    assert_eq!(source.hand_in(&event).await.status, StatusCode::ACCEPTED);
    stack.idle().await;
    let seen = told(&stack).await;
    assert_eq!((seen.len(), seen.values().max()), (25, Some(&1)), "{seen:?}");
    assert!(seen.keys().all(|(_, recipient)| recipient.starts_with("RESTAURANT_USER#r-1-")));
    assert_eq!(stack.count("event-notifications").await, 1);
    assert_eq!(stack.count("processed").await, 1);
    stack.redeliver("e", 3).await;
    stack.idle().await;
    assert_eq!(told(&stack).await, seen);
    let inbox = stack.caller("r-1-024", "RESTAURANT_USER", &[]).await.inbox_titles().await;
    assert_eq!(inbox, ["title e"]);
}

#[tokio::test]
async fn who_leaves_a_group_is_no_longer_told() {
    let stack = Stack::start().await;
    staff(&stack, "r-1", 3).await;
    let source = stack.source().await;
    let tell = async |event_id: &str| {
        let to = json!({"audience": "RESTAURANT_USER", "restaurant_id": "r-1"});
        source.hand_in(&announcement(event_id, &to)).await;
        stack.idle().await;
        told(&stack).await.keys().filter(|(event, _)| event == event_id).count()
    };
    assert_eq!(tell("e-1").await, 3);
    // One goes to another restaurant, one leaves altogether.
    stack.recipients("RESTAURANT_USER", [("r-1-000".to_owned(), json!({"name": "S", "restaurant_id": "r-2"}))]).await;
    let clerk = stack.caller("clerk", "ADMIN_USER", &["recipients:write"]).await;
    let path = "/v1/recipients/RESTAURANT_USER/r-1-001";
    assert_eq!(clerk.send(clerk.request(Method::DELETE, path)).await.status, StatusCode::NO_CONTENT);
    assert_eq!(clerk.get(path).await.code(), "NOT_FOUND");
    assert_eq!(tell("e-2").await, 1);
    assert_eq!(stack.count("members").await, 2);
}

#[tokio::test]
async fn an_audience_of_many_chunks_survives_a_break_between_any_two() {
    let stack = Stack::behind_a_proxy().await;
    stack.recipients("ADMIN_USER", (0..100).map(|n| (format!("a-{n:03}"), json!({"name": "A"})))).await;
    // The door's transaction passes; then one chunk's answer is lost, and later the function loses patience.
    let faults = [vec![Fault::None, Fault::None, Fault::AnswerLost, Fault::None], vec![Fault::Throttled; 9]].concat();
    stack.proxy().break_next("TransactWriteItems", &faults);
    stack.source().await.hand_in(&announcement("e", &json!({"audience": "ADMIN_USER"}))).await;
    stack.idle().await;
    let seen = told(&stack).await;
    assert_eq!((seen.len(), seen.values().max()), (100, Some(&1)), "nobody left out, nobody told twice");
    assert_eq!(stack.count("processed").await, 1);
    let shared = &stack.items("event-notifications").await[0];
    assert!(!shared.contains_key("cursor"), "the cursor is gone with the last chunk");
}

#[tokio::test]
async fn a_fan_out_that_was_overtaken_moves_no_cursor() {
    let stack = Stack::behind_a_proxy().await;
    staff(&stack, "r", 45).await;
    // The second of three chunks is slow to be written; meanwhile the message comes again, and all are told.
    stack.proxy().break_next_with_all("TransactWriteItems", &["r-020", "r-021"], &[Fault::HeldBefore]);
    let event = announcement("e", &json!({"audience": "RESTAURANT_USER", "restaurant_id": "r"}));
    stack.source().await.hand_in(&event).await;
    stack.proxy().held().await;
    stack.redeliver("e", 1).await;
    assert_eq!(stack.count("processed").await, 1);
    stack.proxy().release("TransactWriteItems");
    stack.idle().await;
    let seen = told(&stack).await;
    assert_eq!((seen.len(), seen.values().max()), (45, Some(&1)), "nobody left out, nobody told twice");
    assert_eq!(stack.count("processed").await, 1);
    let shared = &stack.items("event-notifications").await[0];
    assert!(!shared.contains_key("cursor"), "what is done stays done");
}

#[tokio::test]
async fn a_group_of_nobody_is_told_and_done() {
    let stack = Stack::start().await;
    stack.source().await.hand_in(&announcement("e", &json!({"audience": "AGENCY_USER", "agency_id": "a-1"}))).await;
    stack.idle().await;
    assert_eq!((stack.count("processed").await, stack.count("notifications").await), (1, 0));
    assert_eq!(stack.count("dead-letters").await, 0);
}

#[tokio::test]
async fn each_reads_in_their_own_language() {
    let stack = Stack::start().await;
    let people = [("it-IT", "ugo"), ("en", "rosa"), ("fr", "jean")];
    stack
        .recipients("CUSTOMER", people.map(|(locale, id)| (id.to_owned(), json!({"name": "N", "locale": locale}))))
        .await;
    let shop = stack.shop().await;
    for (_, id) in people {
        shop.grant(id, id, "premium").await;
    }
    stack.idle().await;
    let mut titles = Vec::new();
    for (_, id) in people {
        titles.extend(stack.customer(id).await.inbox_titles().await);
    }
    assert_eq!(titles[1], "premium is yours");
    assert_eq!(titles[2], "premium is yours", "a language that there is no text in reads English");
    assert_ne!(titles[0], titles[1], "{titles:?}");
}

#[tokio::test]
async fn a_record_that_is_written_again_never_has_a_revision_of_before() {
    let stack = Stack::start().await;
    let revision = async || {
        let row = stack.items("recipients").await.remove(0);
        row["revision"].as_n().expect("a number").parse::<u64>().expect("a number")
    };
    let clerk = stack.caller("clerk", "ADMIN_USER", &["recipients:write"]).await;
    let mut before = 0;
    for _ in 0..3 {
        for name in ["A", "B"] {
            stack.recipient("CUSTOMER", "u", json!({"name": name})).await;
            let now = revision().await;
            assert!(now > before, "{now} after {before}");
            before = now;
        }
        let gone = clerk.send(clerk.request(Method::DELETE, "/v1/recipients/CUSTOMER/u")).await;
        assert!(gone.status.is_success(), "{}", gone.text);
    }
}
