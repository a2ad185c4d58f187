//! A restaurant with staff, and what they are told of reservations.

use harness::{Caller, Stack};
use reqwest::StatusCode;
use serde_json::{Value, json};

/// This many people at `r-1`: `s-0`, called Staff 0, and so on.
pub async fn staff(stack: &Stack, people: usize) -> Vec<Caller> {
    let person = |n: usize| (format!("s-{n}"), json!({"name": format!("Staff {n}"), "restaurant_id": "r-1"}));
    stack.recipients("RESTAURANT_USER", (0..people).map(person)).await;
    let mut callers = Vec::new();
    for n in 0..people {
        callers.push(stack.caller(&format!("s-{n}"), "RESTAURANT_USER", &[]).await);
    }
    callers
}

/// Ugo asks for a table at `r-1` through the agency `a-1`, and everybody is told; gives the reservation's id.
pub async fn requested(stack: &Stack, key: &str) -> String {
    let body = json!({
        "customer_id": "ugo", "restaurant_id": "r-1", "agency_id": "a-1", "party_size": 2,
        "slot_time": "2999-12-31T20:00:00Z",
    });
    let answer = stack.shop().await.command("/v1/reservations", key, &body).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    stack.idle().await;
    answer.json()["reservation_id"].as_str().expect("an id").to_owned()
}

/// The newest notification of somebody.
pub async fn newest(of: &Caller) -> Value {
    let inbox = of.get("/v1/inbox?limit=1").await;
    assert_eq!(inbox.status, StatusCode::OK, "{}", inbox.text);
    let newest = inbox.json()["notifications"][0].clone();
    assert!(newest.is_object(), "somebody was told: {}", inbox.text);
    newest
}

/// The path of the newest notification of somebody.
pub async fn path(of: &Caller) -> String {
    let newest = newest(of).await;
    format!("/v1/notifications/{}", newest["notification_id"].as_str().expect("an id"))
}

/// How much somebody has not read.
pub async fn unread_count(of: &Caller) -> u64 {
    of.get("/v1/inbox").await.json()["unread_count"].as_u64().expect("a count")
}
