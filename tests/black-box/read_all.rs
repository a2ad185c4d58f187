//! Marking everything read: a watermark of one's own that never moves back.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::Time;
use harness::{Caller, Fault, Stack};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::restaurant::{newest, requested, staff, unread_count};

const READ_ALL: &str = "/v1/inbox/read-all";

async fn read_all(by: &Caller, key: &str) -> Time {
    let answer = by.order(READ_ALL, key).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    Time::parse(answer.json()["read_until"].as_str().expect("a time")).expect("a time")
}

#[tokio::test]
async fn everything_that_was_told_is_read_and_what_comes_after_is_not() {
    let stack = Stack::start().await;
    let (shop, customer) = (stack.shop().await, stack.customer("u").await);
    for unit in ["a", "b", "c"] {
        shop.grant(unit, "u", unit).await;
    }
    stack.idle().await;
    let rows = stack.items("notifications").await;
    let first = customer.order(READ_ALL, "k").await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.text);
    assert_eq!(stack.items("notifications").await.len(), rows.len());
    assert!(stack.column("notifications", "read_at").await.is_empty(), "no row is rewritten");
    let inbox = customer.get("/v1/inbox").await.json();
    assert_eq!(inbox["unread_count"], 0);
    assert!(inbox["notifications"].as_array().expect("rows").iter().all(|row| row["is_read"] == true), "{inbox}");

    shop.grant("d", "u", "d").await;
    stack.idle().await;
    assert_eq!(unread_count(&customer).await, 1);
    let unread = customer.all("/v1/inbox?unread=true&limit=1", "notifications").await;
    assert_eq!(unread.iter().map(|row| row["title"].clone()).collect::<Vec<_>>(), ["d is yours"]);
    assert_eq!(customer.all("/v1/inbox?unread=false&limit=2", "notifications").await.len(), 3);
    let debug = stack.operator().await.get("/debug/notification/inbox/u?user_type=CUSTOMER").await.json();
    assert_eq!((&debug["unread_count"], &debug["notifications"][1]["is_read"]), (&json!(1), &json!(true)));

    let again = customer.order(READ_ALL, "k").await;
    assert_eq!((again.text, again.replayed), (first.text, true));
    assert_eq!(unread_count(&customer).await, 1, "a replay marks nothing");
    assert_eq!(stack.count("events").await, 4, "it is no event");
}

#[tokio::test]
async fn what_is_told_late_is_not_born_read() {
    let stack = Stack::behind_a_proxy().await;
    let customer = stack.customer("u").await;
    // The event is recorded, and the fan-out has tried to tell of it: neither counts.
    stack.proxy().break_next_with("TransactWriteItems", "belfry-local-notifications", &[Fault::HeldBefore]);
    stack.shop().await.grant("k", "u", "premium").await;
    stack.proxy().held().await;
    let read_until = read_all(&customer, "k").await;
    assert_eq!(stack.count("notifications").await, 0);
    stack.idle().await;
    let told = newest(&customer).await;
    let created_at = Time::parse(told["created_at"].as_str().expect("a time")).expect("a time");
    assert!(created_at <= read_until, "the event is older than the read-all");
    assert_eq!((unread_count(&customer).await, &told["is_read"]), (1, &json!(false)));
    assert_eq!(customer.get("/v1/inbox?unread=true").await.json()["notifications"], json!([told]));
    read_all(&customer, "l").await;
    assert_eq!((unread_count(&customer).await, &newest(&customer).await["is_read"]), (0, &json!(true)));
}

#[tokio::test]
async fn it_is_the_callers_own_and_not_the_groups() {
    let stack = Stack::start().await;
    let all = staff(&stack, 2).await;
    requested(&stack, "k").await;
    read_all(&all[0], "k").await;
    let (mine, theirs) = (newest(&all[0]).await, newest(&all[1]).await);
    assert_eq!((&mine["is_read"], &mine["read_by"]), (&json!(true), &Value::Null));
    assert_eq!((&theirs["is_read"], &theirs["read_by"]), (&json!(false), &Value::Null));
    assert_eq!((unread_count(&all[0]).await, unread_count(&all[1]).await), (0, 1));
    let namesake = stack.customer("s-0").await;
    stack.shop().await.grant("grant", "s-0", "premium").await;
    stack.idle().await;
    assert_eq!(unread_count(&namesake).await, 1, "of the same name, but another kind");
}

#[tokio::test]
async fn a_watermark_never_moves_back() {
    let stack = Stack::start().await;
    let customer = stack.customer("u").await;
    let (first, second) = (read_all(&customer, "k1").await, read_all(&customer, "k2").await);
    assert!(first <= second);
    // A clock that is ahead of ours has set it.
    let ahead = "2999-01-01T00:00:00.000Z";
    let text = |value: &str| AttributeValue::S(value.to_owned());
    let put = stack.dynamodb().await.put_item().table_name("belfry-local-inboxes");
    put.item("recipient", text("CUSTOMER#u")).item("read_until", text(ahead)).send().await.expect("it is put");
    assert_eq!(read_all(&customer, "k3").await.to_string(), ahead);
    assert_eq!(stack.column("inboxes", "read_until").await, [ahead]);
}

#[tokio::test]
async fn a_lost_answer_is_replayed() {
    let stack = Stack::behind_a_proxy().await;
    let customer = stack.customer("u").await;
    for (index, fault) in [Fault::AnswerLost, Fault::NotSent, Fault::Conflict].into_iter().enumerate() {
        stack.proxy().break_next("TransactWriteItems", &[fault; 2]);
        let answer = customer.order(READ_ALL, &format!("k{index}")).await;
        assert_eq!((answer.status, answer.replayed), (StatusCode::OK, fault == Fault::AnswerLost), "{fault:?}");
        assert_eq!(customer.order(READ_ALL, &format!("k{index}")).await.text, answer.text, "{fault:?}");
        let stands = stack.column("inboxes", "read_until").await;
        assert_eq!(answer.json()["read_until"], stands[0], "{fault:?}");
    }
}
