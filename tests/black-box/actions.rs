//! Actions on notifications: what they change, what refuses them, and who may.

use harness::{Answer, Caller, Fault, Stack};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::restaurant::{newest, path, requested, staff, unread_count};

/// Acts on the newest notification of somebody.
async fn act(by: &Caller, key: &str, action_type: &str) -> Answer {
    by.command(&format!("{}/actions", path(by).await), key, &json!({"action_type": action_type})).await
}

async fn reservation(stack: &Stack, id: &str) -> Value {
    stack.operator().await.get(&format!("/v1/reservations/{id}")).await.json()
}

/// How many events of this type there are.
async fn events(stack: &Stack, event_type: &str) -> usize {
    stack.column("events", "event_type").await.iter().filter(|stored| *stored == event_type).count()
}

fn is_refused(answer: &Answer, status: StatusCode, code: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (status, code), "{}", answer.text);
}

#[tokio::test]
async fn yes_and_no_decide_the_reservation_and_everybody_sees_who_did() {
    let stack = Stack::start().await;
    let all = staff(&stack, 3).await;
    for (action, status, event_type) in
        [("CONFIRMED", "ACCEPTED", "ReservationAccepted"), ("REJECTED", "REJECTED", "ReservationRejected")]
    {
        let id = requested(&stack, action).await;
        let body = json!({"action_type": action, "note": "Table 7,\nby the window"});
        let acted = all[1].command(&format!("{}/actions", path(&all[1]).await), action, &body).await;
        assert_eq!(acted.status, StatusCode::OK, "{}", acted.text);
        assert_eq!(acted.json(), newest(&all[1]).await, "as in the inbox");
        stack.idle().await;
        let stands = reservation(&stack, &id).await;
        assert_eq!((&stands["status"], &stands["decided_by"]), (&json!(status), &json!("s-1")));
        assert_eq!((&stands["version"], &stands["updated_at"]), (&json!(2), &acted.json()["handled_by"]["at"]));
        for person in &all {
            let told = newest(person).await;
            let by = &told["handled_by"];
            let named = (&by["user_id"], &by["name"], &by["action_type"]);
            assert_eq!(named, (&json!("s-1"), &json!("Staff 1"), &json!(action)));
            assert_eq!(told["read_by"]["user_id"], "s-1", "acting is reading");
            assert_eq!(unread_count(person).await, 0);
        }
        assert_eq!((events(&stack, event_type).await, events(&stack, "NotificationActed").await > 0), (1, true));
        let told = stack.customer("ugo").await.get("/v1/inbox?limit=1").await.json();
        assert_eq!(told["notifications"][0]["event_type"], event_type);
    }
    assert!(stack.column("events", "status").await.iter().all(|status| status == "PUBLISHED"));
    let schema = stack.call(Method::GET, "/schemas/NotificationActed", None).await.json();
    let acted = stack
        .items("events")
        .await
        .into_iter()
        .find(|event| event["event_type"].as_s().unwrap() == "NotificationActed");
    let acted = acted.expect("an event");
    let payload: Value = serde_json::from_str(acted["payload"].as_s().expect("text")).expect("JSON");
    for field in schema["required"].as_array().expect("fields") {
        assert!(payload.get(field.as_str().expect("a name")).is_some(), "{field}: {payload}");
    }
    assert_eq!(payload["event_id"], *acted["event_id"].as_s().expect("text"));
    assert_eq!((&payload["group"], &payload["audience"]), (&json!("restaurant:r-1"), &json!("RESTAURANT_USER")));
    assert_eq!((&payload["note"], &payload["user_id"]), (&json!("Table 7,\nby the window"), &json!("s-1")));
    let requests: Vec<String> = stack.column("event-notifications", "event_id").await;
    assert!(requests.contains(&payload["acted_on_event_id"].as_str().expect("an id").to_owned()));
}

#[tokio::test]
async fn the_other_actions_leave_the_reservation_alone_and_still_handle_it() {
    let stack = Stack::start().await;
    let all = staff(&stack, 2).await;
    for action in ["POSTPONED", "DISMISSED", "CUSTOM"] {
        let id = requested(&stack, action).await;
        let acted = act(&all[0], action, action).await;
        assert_eq!(acted.status, StatusCode::OK, "{}", acted.text);
        let stands = reservation(&stack, &id).await;
        assert_eq!((&stands["status"], &stands["version"]), (&json!("REQUESTED"), &json!(1)), "{action}");
        let second = act(&all[1], action, "CONFIRMED").await;
        is_refused(&second, StatusCode::CONFLICT, "ALREADY_HANDLED");
        let first = &acted.json()["handled_by"];
        assert_eq!(&second.json()["handled_by"], first);
        let at = first["at"].as_str().expect("a time");
        assert_eq!(second.json()["message"], format!("handled by Staff 0: {action} at {at}"));
        assert_eq!(reservation(&stack, &id).await["status"], "REQUESTED", "{action}");
        let accepted = all[1].order(&format!("/v1/reservations/{id}/accept"), &format!("{action}-accept")).await;
        assert_eq!(accepted.status, StatusCode::OK, "{action}: {}", accepted.text);
    }
    assert_eq!((events(&stack, "NotificationActed").await, events(&stack, "ReservationAccepted").await), (3, 3));
}

#[tokio::test]
async fn a_reservation_that_does_not_allow_it_leaves_the_notification_to_be_handled() {
    let stack = Stack::start().await;
    let all = staff(&stack, 2).await;
    let id = requested(&stack, "k").await;
    stack.shop().await.order(&format!("/v1/reservations/{id}/cancel"), "cancel").await;
    stack.idle().await;
    let refused = act(&all[0], "k", "CONFIRMED").await;
    is_refused(&refused, StatusCode::CONFLICT, "RESERVATION_STATE_CONFLICT");
    assert_eq!(refused.json()["message"], "already CANCELLED");
    assert_eq!(newest(&all[0]).await["handled_by"], Value::Null);
    assert_eq!((events(&stack, "NotificationActed").await, unread_count(&all[0]).await), (0, 1));
    assert_eq!(act(&all[1], "k", "DISMISSED").await.status, StatusCode::OK);
    let again = act(&all[0], "k", "CONFIRMED").await;
    assert_eq!((again.text, again.replayed), (refused.text, true), "even when the state has changed since");
}

#[tokio::test]
async fn what_cannot_be_acted_on_what_is_wrong_and_what_is_foreign_is_refused_and_not_stored() {
    let stack = Stack::start().await;
    let all = staff(&stack, 2).await;
    requested(&stack, "k").await;
    let stored = stack.count("idempotency-keys").await;
    let ugo = stack.customer("ugo").await;
    is_refused(&act(&ugo, "k", "CONFIRMED").await, StatusCode::BAD_REQUEST, "BAD_REQUEST");

    let actions = format!("{}/actions", path(&all[0]).await);
    for (field, body) in [
        ("action_type", json!({"action_type": "EATEN"})),
        ("action_type", json!({"action_type": "confirmed"})),
        ("body", json!({})),
        ("reason", json!({"action_type": "CONFIRMED", "reason": "r"})),
        ("note", json!({"action_type": "CONFIRMED", "note": ""})),
        ("note", json!({"action_type": "CONFIRMED", "note": "x".repeat(1001)})),
        ("note", json!({"action_type": "CONFIRMED", "note": "bell\u{7}"})),
        ("note", json!({"action_type": "CONFIRMED", "note": 7})),
    ] {
        let refused = all[0].command(&actions, "k", &body).await;
        is_refused(&refused, StatusCode::BAD_REQUEST, "BAD_REQUEST");
        assert_eq!(refused.json()["details"][0]["field"], field, "{body}: {}", refused.text);
    }
    let body = json!({"action_type": "CONFIRMED"});
    let keyless = all[0].send(all[0].request(Method::POST, &actions).json(&body)).await;
    assert_eq!(keyless.json()["details"][0]["field"], "Idempotency-Key");
    let namesake = stack.caller("s-0", "ADMIN_USER", &["commands:write", "operate"]).await;
    for stranger in [&all[1], &ugo, &namesake] {
        is_refused(&stranger.command(&actions, "k", &body).await, StatusCode::NOT_FOUND, "NOT_FOUND");
    }
    assert_eq!(stack.count("idempotency-keys").await, stored);
    assert_eq!(
        (events(&stack, "NotificationActed").await, newest(&all[0]).await["handled_by"].clone()),
        (0, Value::Null)
    );
}

#[tokio::test]
async fn whoever_has_left_the_restaurant_decides_nothing_any_more() {
    let stack = Stack::start().await;
    let all = staff(&stack, 2).await;
    let id = requested(&stack, "k1").await;
    let actions = format!("{}/actions", path(&all[0]).await);
    let body = json!({"action_type": "CONFIRMED"});
    let leave = json!({"name": "Staff 0", "restaurant_id": "r-2"});
    stack.recipient("RESTAURANT_USER", "s-0", leave.clone()).await;
    for action in ["CONFIRMED", "REJECTED", "DISMISSED"] {
        is_refused(&act(&all[0], action, action).await, StatusCode::FORBIDDEN, "FORBIDDEN");
    }
    assert_eq!(reservation(&stack, &id).await["status"], "REQUESTED");
    assert_eq!(newest(&all[1]).await["handled_by"], Value::Null);
    // Whoever is back may, with the same key; and is answered the same after leaving again.
    stack.recipient("RESTAURANT_USER", "s-0", json!({"name": "Staff 0", "restaurant_id": "r-1"})).await;
    let acted = all[0].command(&actions, "CONFIRMED", &body).await;
    assert_eq!(acted.status, StatusCode::OK, "{}", acted.text);
    stack.recipient("RESTAURANT_USER", "s-0", leave).await;
    let again = all[0].command(&actions, "CONFIRMED", &body).await;
    assert_eq!((again.text, again.replayed), (acted.text, true));
}

#[tokio::test]
async fn a_broken_call_on_the_way_leaves_one_effect() {
    let stack = Stack::behind_a_proxy().await;
    let all = staff(&stack, 2).await;
    let faults = [
        ("GetItem", 0, Fault::AnswerLost),
        ("BatchGetItem", 0, Fault::AnswerLost),
        ("BatchGetItem", 1, Fault::AnswerLost),
        ("BatchGetItem", 1, Fault::NotSent),
        ("TransactWriteItems", 0, Fault::AnswerLost),
        ("TransactWriteItems", 0, Fault::NotSent),
        ("TransactWriteItems", 0, Fault::Conflict),
        ("TransactWriteItems", 0, Fault::HeldAfter),
    ];
    for (index, (operation, before, fault)) in faults.into_iter().enumerate() {
        let id = requested(&stack, &format!("k{index}")).await;
        let actions = format!("{}/actions", path(&all[0]).await);
        let body = json!({"action_type": "CONFIRMED"});
        let key = format!("k{index}");
        stack.proxy().break_after(operation, before, fault);
        let acted = all[0].command(&actions, &key, &body).await;
        stack.proxy().mend();
        assert_eq!(acted.status, StatusCode::OK, "{operation} {fault:?}: {}", acted.text);
        stack.idle().await;
        assert_eq!(all[0].command(&actions, &key, &body).await.text, acted.text, "{operation} {fault:?}");
        assert_eq!(reservation(&stack, &id).await["version"], 2, "{operation} {fault:?}");
        assert_eq!(events(&stack, "NotificationActed").await, index + 1, "{operation} {fault:?}");
        assert_eq!(events(&stack, "ReservationAccepted").await, index + 1, "{operation} {fault:?}");
    }
    // A refusal is stored by a put of its own.
    for (index, fault) in [Fault::AnswerLost, Fault::NotSent].into_iter().enumerate() {
        stack.proxy().break_next("PutItem", &[fault]);
        let refused = act(&all[1], &format!("r{index}"), "REJECTED").await;
        is_refused(&refused, StatusCode::CONFLICT, "ALREADY_HANDLED");
        assert_eq!(act(&all[1], &format!("r{index}"), "REJECTED").await.text, refused.text, "{fault:?}");
    }
}
