//! Reservations: their life, what the state does not allow, races and bad input.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::Time;
use futures_util::future::join_all;
use harness::{Answer, Caller, Stack};
use reqwest::StatusCode;
use serde_json::{Value, json};

const RESERVATIONS: &str = "/v1/reservations";

fn body() -> Value {
    json!({"customer_id": "ugo", "restaurant_id": "r-1", "party_size": 4, "slot_time": "2999-12-31T21:00:00+01:00"})
}

/// The path of a reservation that was just requested.
async fn requested(by: &Caller, key: &str) -> String {
    let answer = by.command(RESERVATIONS, key, &body()).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    format!("{RESERVATIONS}/{}", answer.json()["reservation_id"].as_str().expect("an id"))
}

fn is_conflict(answer: &Answer, message: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (StatusCode::CONFLICT, "RESERVATION_STATE_CONFLICT"));
    assert_eq!(answer.json()["message"], message);
}

#[tokio::test]
async fn a_reservation_is_requested_accepted_and_cancelled_and_each_step_is_an_event() {
    let stack = Stack::start().await;
    let (shop, ugo) = (stack.shop().await, stack.customer("ugo").await);
    let begun = ugo.command(RESERVATIONS, "k", &body()).await;
    assert_eq!(begun.status, StatusCode::CREATED, "{}", begun.text);
    let view = begun.json();
    let id = view["reservation_id"].as_str().expect("an id");
    let path = format!("{RESERVATIONS}/{id}");
    let shown = |status: &str, version: u64, by: Option<&str>, updated_at: &Value| {
        json!({
            "reservation_id": id, "customer_id": "ugo", "restaurant_id": "r-1", "agency_id": null, "party_size": 4,
            "slot_time": "2999-12-31T20:00:00.000Z", "status": status, "decided_by": by, "version": version,
            "created_at": view["created_at"], "updated_at": updated_at,
        })
    };
    assert_eq!(view, shown("REQUESTED", 1, None, &view["created_at"]));
    let accepted = shop.order(&format!("{path}/accept"), "k").await;
    assert_eq!(accepted.status, StatusCode::OK, "{}", accepted.text);
    assert_eq!(accepted.json(), shown("ACCEPTED", 2, Some("shop"), &accepted.json()["updated_at"]));
    assert_eq!(ugo.get(&path).await.json(), accepted.json());
    let cancelled = ugo.order(&format!("{path}/cancel"), "l").await;
    assert_eq!(cancelled.json(), shown("CANCELLED", 3, Some("ugo"), &cancelled.json()["updated_at"]));
    assert_eq!(shop.get(&path).await.json(), cancelled.json());

    stack.idle().await;
    let told = ["ReservationAccepted", "ReservationCancelled", "ReservationRequested"];
    assert_eq!(stack.column("events", "event_type").await, told);
    assert_eq!(stack.column("events", "status").await, ["PUBLISHED"; 3]);
    assert!(!stack.column("events", "event_id").await.iter().any(|event_id| event_id == id));
}

#[tokio::test]
async fn a_step_that_the_state_does_not_allow_names_the_state_and_is_replayed() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let cases: [(&[&str], &[&str], &str); 4] = [
        (&["accept"], &["accept", "reject"], "already ACCEPTED"),
        (&["reject"], &["accept", "reject", "cancel"], "already REJECTED"),
        (&["cancel"], &["accept", "reject", "cancel"], "already CANCELLED"),
        (&["accept", "cancel"], &["accept", "reject", "cancel"], "already CANCELLED"),
    ];
    let mut events = 0;
    for (taken, refused, message) in cases {
        let name = taken.join("-");
        let path = requested(&shop, &name).await;
        for step in taken {
            let answer = shop.order(&format!("{path}/{step}"), &format!("{name}-{step}")).await;
            assert_eq!(answer.status, StatusCode::OK, "{name}: {}", answer.text);
        }
        for step in refused {
            is_conflict(&shop.order(&format!("{path}/{step}"), &format!("{name}-{step}-refused")).await, message);
        }
        events += 1 + taken.len();
    }
    assert_eq!(stack.count("events").await, events, "a refusal is no event");

    let path = requested(&shop, "k1").await;
    shop.order(&format!("{path}/accept"), "k2").await;
    let refused = shop.order(&format!("{path}/reject"), "k3").await;
    shop.order(&format!("{path}/cancel"), "k4").await;
    let again = shop.order(&format!("{path}/reject"), "k3").await;
    is_conflict(&again, "already ACCEPTED");
    assert_eq!((again.text, again.replayed), (refused.text, true), "even when the state has changed since");
}

#[tokio::test]
async fn a_request_and_a_step_are_replayed_byte_for_byte_and_take_effect_once() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let (body_a, body_b) = (body(), body());
    let (one, two) = tokio::join!(shop.command(RESERVATIONS, "k", &body_a), shop.command(RESERVATIONS, "k", &body_b));
    assert_eq!(one.status, StatusCode::CREATED, "{}", one.text);
    assert_eq!((&two.status, &two.text), (&one.status, &one.text));
    assert!(one.replayed != two.replayed, "one of them is the first");
    let path = format!("{RESERVATIONS}/{}", one.json()["reservation_id"].as_str().expect("an id"));
    let (accept, accept_again) = (format!("{path}/accept"), format!("{path}/accept"));
    let (first, second) = tokio::join!(shop.order(&accept, "l"), shop.order(&accept_again, "l"));
    assert_eq!((first.status, &first.text), (StatusCode::OK, &second.text));
    shop.order(&format!("{path}/cancel"), "m").await;
    for (answer, first) in
        [(shop.command(RESERVATIONS, "k", &body()).await, one), (shop.order(&accept, "l").await, first)]
    {
        assert_eq!((answer.status, answer.text, answer.replayed), (first.status, first.text, true));
    }
    let mut other = body();
    other["party_size"] = json!(5);
    assert_eq!(shop.command(RESERVATIONS, "k", &other).await.code(), "IDEMPOTENCY_KEY_CONFLICT");
    assert_eq!(shop.order(&format!("{path}/reject"), "l").await.code(), "IDEMPOTENCY_KEY_CONFLICT");
    assert_eq!((stack.count("reservations").await, stack.count("events").await), (1, 3));
}

#[tokio::test]
async fn of_twenty_racing_accepts_and_rejects_one_wins_and_the_others_are_told() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    stack.recipient("RESTAURANT_USER", "rosa", json!({"name": "Rosa", "restaurant_id": "r-1"})).await;
    let rosa = stack.caller("rosa", "RESTAURANT_USER", &[]).await;
    let path = requested(&shop, "k").await;
    let steps = (0..20).map(|number| {
        let (path, caller) = (path.clone(), if number % 3 == 0 { rosa.clone() } else { shop.clone() });
        let step = if number % 2 == 0 { "accept" } else { "reject" };
        async move { caller.order(&format!("{path}/{step}"), &format!("k{number}")).await }
    });
    let answers = join_all(steps).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == StatusCode::OK);
    let [won] = won.as_slice() else { panic!("{} have won", won.len()) };
    let stands = won.json()["status"].as_str().expect("a status").to_owned();
    for answer in lost {
        is_conflict(&answer, &format!("already {stands}"));
    }
    assert_eq!(shop.get(&path).await.text, won.text);
    assert_eq!(stack.count("events").await, 2);
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_named_and_nothing_is_stored() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let with = |field: &str, value: Value| {
        let mut body = body();
        body[field] = value;
        body
    };
    let mut missing = body();
    missing.as_object_mut().expect("an object").remove("slot_time");
    let cases = [
        ("customer_id", with("customer_id", json!(""))),
        ("customer_id", with("customer_id", json!("a b"))),
        ("restaurant_id", with("restaurant_id", json!(7))),
        ("restaurant_id", with("restaurant_id", json!("x".repeat(129)))),
        ("agency_id", with("agency_id", json!("zero\u{200b}width"))),
        ("party_size", with("party_size", json!(0))),
        ("party_size", with("party_size", json!(101))),
        ("party_size", with("party_size", json!(-1))),
        ("party_size", with("party_size", json!(2.5))),
        ("party_size", with("party_size", json!("4"))),
        ("slot_time", with("slot_time", json!("tomorrow at eight"))),
        ("slot_time", with("slot_time", json!("2999-12-31T20:00:00"))),
        ("slot_time", with("slot_time", json!(1_800_000_000))),
        ("slot_time", with("slot_time", json!("2001-01-01T00:00:00Z"))),
        ("status", with("status", json!("ACCEPTED"))),
        ("body", missing),
    ];
    for (field, body) in cases {
        let refused = shop.command(RESERVATIONS, "k", &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::BAD_REQUEST, "BAD_REQUEST"), "{body}");
        assert_eq!(refused.json()["details"][0]["field"], field, "{body}: {}", refused.text);
    }
    let tables = ["reservations", "events", "idempotency-keys"];
    let stored: BTreeSet<usize> = join_all(tables.map(|table| stack.count(table))).await.into_iter().collect();
    assert_eq!(stored, BTreeSet::from([0]));
    let path = requested(&shop, "k").await;

    let accept = format!("{path}/accept");
    let garbage = shop.command(&accept, "l", &json!({"status": "ACCEPTED"})).await;
    assert_eq!(garbage.code(), "BAD_REQUEST", "a step needs no body");
    let keyless = shop.send(shop.request(reqwest::Method::POST, &accept)).await;
    assert_eq!(keyless.json()["details"][0]["field"], "Idempotency-Key");
    for id in ["nonsense", "%20", "01a1e35e-0000-7000-8000-000000000000"] {
        assert_eq!(shop.get(&format!("{RESERVATIONS}/{id}")).await.code(), "NOT_FOUND", "{id}");
        assert_eq!(shop.order(&format!("{RESERVATIONS}/{id}/accept"), "m").await.code(), "NOT_FOUND", "{id}");
    }
}

#[tokio::test]
async fn a_request_is_replayed_even_after_its_time() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let mut body = body();
    let mut ahead = Duration::from_secs(1);
    // A slow machine may need more time than that to ask before the slot begins.
    let (soon, first) = loop {
        let soon = Time::now().plus(ahead);
        body["slot_time"] = json!(soon);
        let answer = shop.command(RESERVATIONS, "k", &body).await;
        if answer.status == StatusCode::CREATED {
            break (soon, answer);
        }
        ahead *= 2;
    };
    while Time::now() <= soon {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let again = shop.command(RESERVATIONS, "k", &body).await;
    assert_eq!((again.status, &again.text, again.replayed), (first.status, &first.text, true));
    let late = shop.command(RESERVATIONS, "l", &body).await;
    assert_eq!(late.json()["details"][0]["field"], "slot_time", "{}", late.text);
}
