//! Who may do what with a reservation.

use harness::{Answer, Caller, Stack};
use reqwest::StatusCode;
use serde_json::{Value, json};

const RESERVATIONS: &str = "/v1/reservations";

fn asked(customer_id: &str, agency_id: Option<&str>) -> Value {
    let mut body = json!({
        "customer_id": customer_id, "restaurant_id": "r-1", "party_size": 2, "slot_time": "2999-12-31T20:00:00Z",
    });
    if let Some(agency_id) = agency_id {
        body["agency_id"] = json!(agency_id);
    }
    body
}

/// The people around a reservation of `ugo` at `r-1` through `a-1`.
async fn staff(stack: &Stack) {
    let restaurant = |name: &str, id: &str| json!({"name": name, "restaurant_id": id});
    let agency = |name: &str, id: &str| json!({"name": name, "agency_id": id});
    stack.recipient("RESTAURANT_USER", "rosa", restaurant("Rosa", "r-1")).await;
    stack.recipient("RESTAURANT_USER", "remo", restaurant("Remo", "r-2")).await;
    stack.recipient("AGENCY_USER", "anna", agency("Anna", "a-1")).await;
    stack.recipient("AGENCY_USER", "aldo", agency("Aldo", "a-2")).await;
}

/// Requests a reservation as the shop, and gives its path.
async fn requested(stack: &Stack, key: &str) -> String {
    let answer = stack.shop().await.command(RESERVATIONS, key, &asked("ugo", Some("a-1"))).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    format!("{RESERVATIONS}/{}", answer.json()["reservation_id"].as_str().expect("an id"))
}

#[tokio::test]
async fn each_side_does_its_part_and_strangers_see_nothing() {
    let stack = Stack::start().await;
    staff(&stack).await;
    // Who, as what, with which scopes; then what read, accept, reject and cancel give.
    let table: [(&str, &str, &[&str], [u16; 4]); 14] = [
        ("shop-2", "ADMIN_USER", &["commands:write"], [200, 200, 200, 200]),
        ("omar", "ADMIN_USER", &["operate"], [200, 403, 403, 403]),
        ("omar", "ADMIN_USER", &[], [404, 404, 404, 404]),
        ("crm", "ADMIN_USER", &["events:write", "recipients:write"], [404, 404, 404, 404]),
        ("ugo", "CUSTOMER", &[], [200, 403, 403, 200]),
        ("vera", "CUSTOMER", &[], [404, 404, 404, 404]),
        ("rosa", "RESTAURANT_USER", &[], [200, 200, 200, 200]),
        ("remo", "RESTAURANT_USER", &[], [404, 404, 404, 404]),
        ("unknown", "RESTAURANT_USER", &[], [404, 404, 404, 404]),
        ("anna", "AGENCY_USER", &[], [200, 403, 403, 200]),
        ("aldo", "AGENCY_USER", &[], [404, 404, 404, 404]),
        // A name is a person only within its own kind.
        ("ugo", "ADMIN_USER", &[], [404, 404, 404, 404]),
        ("ugo", "RESTAURANT_USER", &[], [404, 404, 404, 404]),
        ("rosa", "CUSTOMER", &[], [404, 404, 404, 404]),
    ];
    for (row, (sub, user_type, scopes, [read, accept, reject, cancel])) in table.into_iter().enumerate() {
        let caller = stack.caller(sub, user_type, scopes).await;
        let named = format!("{sub} as {user_type} with {scopes:?}");
        for (step, expected) in [("accept", accept), ("reject", reject), ("cancel", cancel)] {
            let key = format!("{row}-{step}");
            let path = requested(&stack, &key).await;
            assert_eq!(caller.get(&path).await.status.as_u16(), read, "{named} reads");
            let answer = caller.order(&format!("{path}/{step}"), &key).await;
            assert_eq!(answer.status.as_u16(), expected, "{named}: {step}: {}", answer.text);
            let stands = stack.operator().await.get(&path).await.json();
            let untouched = stands["status"] == "REQUESTED" && stands["version"] == 1;
            assert_eq!(untouched, expected != 200, "{named}: {step}: {stands}");
        }
    }
}

#[tokio::test]
async fn a_request_is_for_oneself_or_for_ones_agency() {
    let stack = Stack::start().await;
    staff(&stack).await;
    let table = [
        ("ugo", "CUSTOMER", asked("ugo", None), 201),
        ("ugo", "CUSTOMER", asked("ugo", Some("a-1")), 201),
        ("ugo", "CUSTOMER", asked("vera", None), 403),
        ("anna", "AGENCY_USER", asked("ugo", Some("a-1")), 201),
        ("anna", "AGENCY_USER", asked("ugo", Some("a-2")), 403),
        ("anna", "AGENCY_USER", asked("ugo", None), 403),
        ("anna", "AGENCY_USER", asked("anna", None), 403),
        ("unknown", "AGENCY_USER", asked("ugo", Some("a-1")), 403),
        ("rosa", "RESTAURANT_USER", asked("ugo", None), 403),
        ("ugo", "ADMIN_USER", asked("ugo", None), 403),
    ];
    for (row, (sub, user_type, body, expected)) in table.iter().enumerate() {
        let caller = stack.caller(sub, user_type, &[]).await;
        let answer = caller.command(RESERVATIONS, &row.to_string(), body).await;
        assert_eq!(answer.status.as_u16(), *expected, "{sub} as {user_type}, {body}: {}", answer.text);
    }
    assert_eq!(stack.count("reservations").await, 3);
    assert_eq!(stack.count("idempotency-keys").await, 3, "what is not theirs is not stored");
}

/// What a caller can learn of a path: everything but the id of the request.
async fn learned(caller: &Caller, path: &str, key: &str) -> Vec<Answer> {
    let mut answers = vec![caller.get(path).await];
    for step in ["accept", "reject", "cancel"] {
        answers.push(caller.order(&format!("{path}/{step}"), &format!("{key}-{step}")).await);
    }
    answers
}

#[tokio::test]
async fn a_foreign_reservation_is_not_told_from_a_missing_one_whatever_its_state() {
    let stack = Stack::start().await;
    staff(&stack).await;
    let (open, ended) = (requested(&stack, "open").await, requested(&stack, "ended").await);
    stack.shop().await.order(&format!("{ended}/reject"), "end").await;
    let missing = format!("{RESERVATIONS}/01a1e35e-0000-7000-8000-000000000000");
    for (sub, user_type) in [("vera", "CUSTOMER"), ("remo", "RESTAURANT_USER"), ("aldo", "AGENCY_USER")] {
        let stranger = stack.caller(sub, user_type, &[]).await;
        let nothing = learned(&stranger, &missing, "missing").await;
        assert_eq!(learned(&stranger, &open, "open").await, nothing, "{sub}");
        assert_eq!(learned(&stranger, &ended, "ended").await, nothing, "{sub}");
        // Nothing is stored: the same keys are still free for other requests.
        assert_eq!(learned(&stranger, &open, "missing").await, nothing, "{sub}");
    }
}

#[tokio::test]
async fn a_key_that_met_a_404_works_once_its_caller_is_one_of_the_staff() {
    let stack = Stack::start().await;
    let path = requested(&stack, "k").await;
    let rosa = stack.caller("rosa", "RESTAURANT_USER", &[]).await;
    let accept = format!("{path}/accept");
    assert_eq!(rosa.order(&accept, "k").await.status, StatusCode::NOT_FOUND);
    staff(&stack).await;
    let accepted = rosa.order(&accept, "k").await;
    assert_eq!((accepted.status, accepted.replayed), (StatusCode::OK, false), "{}", accepted.text);
    // Rosa goes to another restaurant: her old answer is still hers, the reservation is not.
    stack.recipient("RESTAURANT_USER", "rosa", json!({"name": "Rosa", "restaurant_id": "r-2"})).await;
    let replayed = rosa.order(&accept, "k").await;
    assert_eq!((replayed.text, replayed.replayed), (accepted.text, true));
    assert_eq!(rosa.order(&format!("{path}/cancel"), "l").await.status, StatusCode::NOT_FOUND);
    assert_eq!(rosa.get(&path).await.status, StatusCode::NOT_FOUND);
}
