//! Reading notifications: one's own, and for the whole group where reading is shared.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use harness::{Fault, Stack};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::restaurant::{newest, path, requested, staff, unread_count};

#[tokio::test]
async fn a_notification_is_read_once_and_answers_as_the_inbox_shows_it() {
    let stack = Stack::start().await;
    stack.shop().await.grant("k", "u", "premium").await;
    stack.idle().await;
    let customer = stack.customer("u").await;
    let read = format!("{}/read", path(&customer).await);
    let first = customer.order(&read, "k").await;
    assert_eq!((first.status, first.replayed), (StatusCode::OK, false), "{}", first.text);
    assert_eq!(first.json()["is_read"], true);
    assert_eq!(first.json(), newest(&customer).await);
    assert_eq!(first.json()["read_by"], Value::Null, "nobody shares it");
    assert_eq!(unread_count(&customer).await, 0);
    let row = stack.items("notifications").await;

    let again = customer.order(&read, "k").await;
    assert_eq!((again.status, again.text.as_str(), again.replayed), (StatusCode::OK, first.text.as_str(), true));
    let anew = customer.order(&read, "l").await;
    assert_eq!((anew.status, anew.text, anew.replayed), (StatusCode::OK, first.text, false));
    assert_eq!(stack.items("notifications").await, row, "the first time stays");
    assert_eq!(stack.count("events").await, 1, "reading is no event");
    assert_eq!(stack.count("group-reads").await, 0);
    assert_eq!(customer.order("/v1/inbox/read-all", "k").await.code(), "IDEMPOTENCY_KEY_CONFLICT");
}

#[tokio::test]
async fn one_of_the_staff_reads_and_all_see_by_whom() {
    let stack = Stack::start().await;
    let all = staff(&stack, 25).await;
    requested(&stack, "k1").await;
    requested(&stack, "k2").await;
    for person in &all {
        assert_eq!(unread_count(person).await, 2);
    }
    let read = all[7].order(&format!("{}/read", path(&all[7]).await), "k").await;
    assert_eq!(read.status, StatusCode::OK, "{}", read.text);
    let read_by = read.json()["read_by"].clone();
    assert_eq!((read_by["user_id"].as_str(), read_by["name"].as_str()), (Some("s-7"), Some("Staff 7")));
    for (n, person) in all.iter().enumerate() {
        let inbox = person.get("/v1/inbox").await.json();
        let (newest, older) = (&inbox["notifications"][0], &inbox["notifications"][1]);
        assert_eq!((&newest["is_read"], &newest["read_by"]), (&json!(true), &read_by), "s-{n}");
        assert_eq!((&older["is_read"], &older["read_by"]), (&json!(false), &Value::Null), "s-{n}");
        assert_eq!(inbox["unread_count"], 1, "s-{n}");
        for (unread, shown) in [(true, older), (false, newest)] {
            let filtered = person.get(&format!("/v1/inbox?unread={unread}")).await.json();
            assert_eq!(filtered["notifications"], json!([shown]), "s-{n}");
        }
    }
    // Whoever comes second has read it too, and is not named.
    let second = all[8].order(&format!("{}/read", path(&all[8]).await), "k").await;
    assert_eq!((second.status, &second.json()["read_by"]), (StatusCode::OK, &read_by));
    let debug = stack.operator().await.get("/debug/notification/inbox/s-9?user_type=RESTAURANT_USER").await.json();
    assert_eq!((&debug["unread_count"], &debug["notifications"][0]["read_by"]), (&json!(1), &read_by));
}

#[tokio::test]
async fn of_twenty_racing_readers_one_is_named_to_all() {
    let stack = Stack::start().await;
    let all = staff(&stack, 20).await;
    requested(&stack, "k").await;
    let paths = join_all(all.iter().map(path)).await;
    let reads =
        all.iter().zip(&paths).map(|(person, path)| async move { person.order(&format!("{path}/read"), "k").await });
    let answers = join_all(reads).await;
    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK), "{answers:?}");
    let named: BTreeSet<String> = answers.iter().map(|answer| answer.json()["read_by"].to_string()).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    assert_eq!(stack.count("group-reads").await, 1);
    let read_at = stack.column("notifications", "read_at").await;
    assert_eq!(read_at.len(), 20, "each has read their own");
}

#[tokio::test]
async fn whoever_is_overtaken_names_the_one_who_was_first() {
    let stack = Stack::behind_a_proxy().await;
    let all = staff(&stack, 2).await;
    requested(&stack, "k").await;
    let (mine, theirs) = (format!("{}/read", path(&all[0]).await), format!("{}/read", path(&all[1]).await));
    // I have seen that nobody has read it, and am held up on the way to say that I have.
    stack.proxy().break_next_with("TransactWriteItems", "#s-0", &[Fault::HeldBefore]);
    let overtake = async {
        stack.proxy().held().await;
        all[1].order(&theirs, "k").await
    };
    let (slow, fast) = tokio::join!(all[0].order(&mine, "k"), overtake);
    assert_eq!((slow.status, fast.status), (StatusCode::OK, StatusCode::OK), "{} {}", slow.text, fast.text);
    assert_eq!(fast.json()["read_by"]["user_id"], "s-1");
    assert_eq!(slow.json()["read_by"], fast.json()["read_by"]);
    assert_eq!(newest(&all[0]).await["read_by"], fast.json()["read_by"]);
}

#[tokio::test]
async fn what_is_in_another_inbox_is_not_there() {
    let stack = Stack::start().await;
    let all = staff(&stack, 2).await;
    requested(&stack, "k").await;
    let read = format!("{}/read", path(&all[0]).await);
    let stored = stack.count("idempotency-keys").await;
    let namesake = stack.caller("s-0", "CUSTOMER", &[]).await;
    let operator = stack.caller("s-0", "ADMIN_USER", &["operate", "commands:write"]).await;
    for stranger in [&all[1], &namesake, &operator] {
        let refused = stranger.order(&read, "k").await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::NOT_FOUND, "NOT_FOUND"), "{}", refused.text);
    }
    for id in ["nonsense", "%20", "01a1e35e-0000-7000-8000-000000000000"] {
        assert_eq!(all[0].order(&format!("/v1/notifications/{id}/read"), "k").await.code(), "NOT_FOUND", "{id}");
    }
    assert_eq!(stack.count("idempotency-keys").await, stored, "who may see what is not stored");
    assert_eq!(unread_count(&all[0]).await, 1);
    let garbage = all[0].command(&read, "k", &json!({"read": true})).await;
    assert_eq!(garbage.code(), "BAD_REQUEST");
    assert_eq!(all[0].send(all[0].request(Method::POST, &read)).await.json()["details"][0]["field"], "Idempotency-Key");
}

#[tokio::test]
async fn whoever_has_left_the_group_reads_for_themselves_alone() {
    let stack = Stack::start().await;
    let all = staff(&stack, 2).await;
    requested(&stack, "k").await;
    stack.recipient("RESTAURANT_USER", "s-0", json!({"name": "Staff 0", "restaurant_id": "r-2"})).await;
    let read = all[0].order(&format!("{}/read", path(&all[0]).await), "k").await.json();
    assert_eq!((&read["is_read"], &read["read_by"]), (&json!(true), &Value::Null));
    assert_eq!((unread_count(&all[0]).await, unread_count(&all[1]).await), (0, 1));
}

#[tokio::test]
async fn a_filter_and_pages_find_everything_once_whatever_is_read() {
    let stack = Stack::start().await;
    let all = staff(&stack, 2).await;
    let mut unread = Vec::new();
    for n in 0..7 {
        let reservation = requested(&stack, &format!("k{n}")).await;
        // Every third one I read, every third one a colleague.
        match n % 3 {
            0 => drop(all[0].order(&format!("{}/read", path(&all[0]).await), &format!("k{n}")).await),
            1 => drop(all[1].order(&format!("{}/read", path(&all[1]).await), &format!("k{n}")).await),
            _ => unread.push(reservation),
        }
    }
    unread.reverse();
    for limit in [1, 2, 3, 50] {
        let listed =
            async |unread: bool| all[0].all(&format!("/v1/inbox?limit={limit}&unread={unread}"), "notifications").await;
        let ids: Vec<Value> =
            listed(true).await.iter().map(|told| told["properties"]["reservation_id"].clone()).collect();
        assert_eq!(ids, unread, "limit {limit}");
        assert_eq!(listed(false).await.len(), 5, "limit {limit}");
    }
    assert_eq!((unread_count(&all[0]).await, unread_count(&all[1]).await), (2, 2));
}

#[tokio::test]
async fn a_broken_call_on_the_way_leaves_it_read_once() {
    let stack = Stack::behind_a_proxy().await;
    let all = staff(&stack, 2).await;
    for (index, (operation, fault)) in [
        ("GetItem", Fault::AnswerLost),
        ("BatchGetItem", Fault::AnswerLost),
        ("TransactWriteItems", Fault::AnswerLost),
        ("TransactWriteItems", Fault::NotSent),
        ("TransactWriteItems", Fault::Conflict),
        ("TransactWriteItems", Fault::HeldAfter),
    ]
    .into_iter()
    .enumerate()
    {
        requested(&stack, &format!("k{index}")).await;
        let read = format!("{}/read", path(&all[0]).await);
        stack.proxy().break_next(operation, &[fault]);
        let answer = all[0].order(&read, &format!("k{index}")).await;
        stack.proxy().mend();
        assert_eq!(answer.status, StatusCode::OK, "{operation} {fault:?}: {}", answer.text);
        assert_eq!(answer.json()["read_by"]["name"], "Staff 0", "{operation} {fault:?}");
        let again = all[0].order(&read, &format!("k{index}")).await;
        assert_eq!((again.text, again.replayed), (answer.text, true), "{operation} {fault:?}");
        assert_eq!(stack.count("group-reads").await, index + 1, "{operation} {fault:?}");
        assert_eq!(unread_count(&all[1]).await, 0, "{operation} {fault:?}");
    }
}
