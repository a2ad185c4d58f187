//! What callers ask of the API.

use futures_util::FutureExt;
use harness::{Answer, announcement};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{Request, Scene, UseCase, inbox};

const SHOP: (&str, &str, &str) = ("shop", "ADMIN_USER", "commands:write");
const OPERATOR: (&str, &str, &str) = ("omar", "ADMIN_USER", "operate");
const CRM: (&str, &str, &str) = ("crm", "ADMIN_USER", "events:write recipients:write");
pub const UGO: (&str, &str, &str) = ("ugo", "CUSTOMER", "");
pub const ROSA: (&str, &str, &str) = ("rosa", "RESTAURANT_USER", "");

/// Every command, in the order of the specification.
pub fn all() -> Vec<UseCase> {
    [entitlements(), reservations(), orders(), events_and_recipients(), inbox::all(), operating()]
        .into_iter()
        .flatten()
        .collect()
}

macro_rules! command {
    ($name:literal, $leaves:expr, |$scene:ident| $request:expr) => {
        UseCase {
            name: $name,
            function: "ApiFunction",
            prepare: |$scene| async move { $request.event() }.boxed(),
            leaves: $leaves,
            unknown: None,
        }
    };
}
pub(super) use command;

fn entitlements() -> Vec<UseCase> {
    vec![
        command!("grant", &[("entitlements ACTIVE", 1), ("events PENDING", 1), ("idempotency-keys", 1)], |_scene| {
            posted("/v1/entitlements/grants", SHOP, unit())
        }),
        command!(
            "grant of what is granted: refused",
            &[("entitlements ACTIVE", 1), ("events PENDING", 1), ("idempotency-keys", 2)],
            |scene| {
                done(&scene.stack().shop().await.command("/v1/entitlements/grants", "before", &unit()).await);
                posted("/v1/entitlements/grants", SHOP, unit())
            }
        ),
        command!(
            "revoke",
            &[("entitlements REVOKED", 1), ("events PENDING", 2), ("entitlements version in all", 2)],
            |scene| {
                done(&scene.stack().shop().await.command("/v1/entitlements/grants", "before", &unit()).await);
                posted("/v1/entitlements/revokes", SHOP, unit())
            }
        ),
        command!(
            "grant after a revoke",
            &[("entitlements ACTIVE", 1), ("events PENDING", 3), ("entitlements version in all", 3)],
            |scene| {
                let shop = scene.stack().shop().await;
                done(&shop.command("/v1/entitlements/grants", "before", &unit()).await);
                done(&shop.command("/v1/entitlements/revokes", "then", &unit()).await);
                posted("/v1/entitlements/grants", SHOP, unit())
            }
        ),
    ]
}

fn reservations() -> Vec<UseCase> {
    vec![
        command!("request of a table", &[("reservations REQUESTED", 1), ("events PENDING", 1)], |_scene| posted(
            "/v1/reservations",
            UGO,
            table()
        )),
        command!("acceptance of a reservation", &[("reservations ACCEPTED", 1), ("events PENDING", 2)], |scene| {
            let id = requested(scene).await;
            posted(&format!("/v1/reservations/{id}/accept"), ROSA, Value::Null)
        }),
        command!("rejection of a reservation", &[("reservations REJECTED", 1), ("events PENDING", 2)], |scene| {
            let id = requested(scene).await;
            posted(&format!("/v1/reservations/{id}/reject"), ROSA, Value::Null)
        }),
        command!("cancellation of a reservation", &[("reservations CANCELLED", 1), ("events PENDING", 2)], |scene| {
            let id = requested(scene).await;
            posted(&format!("/v1/reservations/{id}/cancel"), UGO, Value::Null)
        }),
    ]
}

fn orders() -> Vec<UseCase> {
    vec![
        command!("order", &[("orders PLACED", 1), ("events PENDING", 1)], |scene| {
            stocked(scene).await;
            posted("/v1/orders", UGO, three_bottles())
        }),
        command!("cancellation of an order", &[("orders CANCELLED", 1), ("events PENDING", 2)], |scene| {
            let id = ordered(scene).await;
            posted(&format!("/v1/orders/{id}/cancel"), UGO, Value::Null)
        }),
        command!("stock", &[("stock", 1), ("stock available in all", 10)], |_scene| Request {
            method: "PUT",
            path: "/v1/inventory/wine".to_owned(),
            by: OPERATOR,
            key: None,
            body: stock(),
        }),
    ]
}

fn events_and_recipients() -> Vec<UseCase> {
    vec![
        command!("event handed in", &[("events PENDING", 1)], |_scene| Request {
            method: "POST",
            path: "/v1/events".to_owned(),
            by: CRM,
            key: None,
            body: announcement("e-1", "ugo", "Hear, hear"),
        }),
        command!("three events handed in at once", &[("events PENDING", 3)], |_scene| Request {
            method: "POST",
            path: "/v1/events".to_owned(),
            by: CRM,
            key: None,
            body: json!(["e-1", "e-2", "e-3"].map(|id| announcement(id, "ugo", "Hear, hear"))),
        }),
        command!("recipient stored", &[("recipients", 1), ("members", 1)], |_scene| Request {
            method: "PUT",
            path: "/v1/recipients/RESTAURANT_USER/rosa".to_owned(),
            by: CRM,
            key: None,
            body: rosa(),
        }),
        command!("recipient moved to another restaurant", &[("recipients", 1), ("members", 1)], |scene| {
            scene.stack().recipient("RESTAURANT_USER", "rosa", rosa()).await;
            let body = json!({"name": "Rosa", "restaurant_id": "r-2"});
            let path = "/v1/recipients/RESTAURANT_USER/rosa".to_owned();
            Request { method: "PUT", path, by: CRM, key: None, body }
        }),
        command!("recipient deleted", &[("recipients", 0), ("members", 0)], |scene| {
            scene.stack().recipient("RESTAURANT_USER", "rosa", rosa()).await;
            let path = "/v1/recipients/RESTAURANT_USER/rosa".to_owned();
            Request { method: "DELETE", path, by: CRM, key: None, body: Value::Null }
        }),
    ]
}

fn operating() -> Vec<UseCase> {
    vec![
        command!("dead letter redriven", &[("dead-letters REDRIVEN", 1), ("events PENDING", 1)], |scene| {
            let id = dead_letter(scene).await;
            posted(&format!("/v1/dead-letters/{id}/redrive"), OPERATOR, Value::Null)
        }),
        command!("dead letter discarded", &[("dead-letters DISCARDED", 1)], |scene| {
            let id = dead_letter(scene).await;
            posted(&format!("/v1/dead-letters/{id}/discard"), OPERATOR, Value::Null)
        }),
        command!("dead letters redriven by a filter", &[("dead-letters OPEN", 1), ("events PENDING", 1)], |scene| {
            dead_letter(scene).await;
            posted("/v1/dead-letters/redrive", OPERATOR, json!({"filter": {"queue": "fanout-customer"}}))
        }),
        command!("dead letters redriven by their ids", &[("dead-letters OPEN", 1), ("events PENDING", 1)], |scene| {
            let id = dead_letter(scene).await;
            posted("/v1/dead-letters/redrive", OPERATOR, json!({"ids": [id]}))
        }),
        command!("key evicted", &[("idempotency-keys", 0), ("entitlements ACTIVE", 1)], |scene| {
            // By a process of its own: a key belongs to the issuer too, and the host's is another one.
            let grant = posted("/v1/entitlements/grants", SHOP, unit()).event();
            let granted = scene.start("ApiFunction").await.invoke(grant).await.answer();
            assert_eq!(granted["statusCode"], 200, "{granted}");
            let path = "/v1/idempotency-keys/k?caller=shop".to_owned();
            Request { method: "DELETE", path, by: OPERATOR, key: None, body: Value::Null }
        }),
        command!("event published again", &[("events PENDING", 2), ("idempotency-keys", 1)], |scene| {
            done(&scene.stack().source().await.hand_in(&announcement("e-1", "ugo", "Hear, hear")).await);
            posted("/v1/outbox/e-1/republish", OPERATOR, Value::Null)
        }),
    ]
}

/// A post with a key.
pub fn posted(path: &str, by: (&'static str, &'static str, &'static str), body: Value) -> Request {
    Request { method: "POST", path: path.to_owned(), by, key: Some("k"), body }
}

fn unit() -> Value {
    json!({"user_id": "ugo", "stock_keeping_unit": "wine", "reason": "PURCHASE", "purchase_id": "p-1"})
}

fn table() -> Value {
    json!({"customer_id": "ugo", "restaurant_id": "r-1", "party_size": 2, "slot_time": "2999-12-31T20:00:00Z"})
}

pub fn rosa() -> Value {
    json!({"name": "Rosa", "restaurant_id": "r-1"})
}

pub fn stock() -> Value {
    json!({"available": 10, "unit_price": 250, "currency": "EUR"})
}

pub fn three_bottles() -> Value {
    json!({"customer_id": "ugo", "lines": [{"stock_keeping_unit": "wine", "quantity": 3}]})
}

/// What comes before a use case must have been done.
pub fn done(answer: &Answer) {
    assert!(answer.status.is_success(), "{}: {}", answer.status, answer.text);
}

/// Ten bottles.
pub async fn stocked(scene: &Scene) {
    done(&scene.stack().operator().await.put("/v1/inventory/wine", &stock()).await);
}

/// Three of them ordered; gives the order's id.
pub async fn ordered(scene: &Scene) -> String {
    stocked(scene).await;
    let placed = scene.stack().customer("ugo").await.command("/v1/orders", "before", &three_bottles()).await;
    assert_eq!(placed.status, StatusCode::CREATED, "{}", placed.text);
    placed.json()["order_id"].as_str().expect("an id").to_owned()
}

/// A reservation at Rosa's; gives its id.
pub async fn requested(scene: &Scene) -> String {
    scene.stack().recipient("RESTAURANT_USER", "rosa", rosa()).await;
    let requested = scene.stack().customer("ugo").await.command("/v1/reservations", "before", &table()).await;
    assert_eq!(requested.status, StatusCode::CREATED, "{}", requested.text);
    requested.json()["reservation_id"].as_str().expect("an id").to_owned()
}

/// A message that nobody could read has become a dead letter; gives its id.
pub async fn dead_letter(scene: &Scene) -> String {
    done(&scene.stack().source().await.hand_in(&announcement("e-1", "ugo", "Hear, hear")).await);
    let mut event = scene.message("fanout-customer").await;
    let record = &mut event["Records"][0];
    record["attributes"]["DeadLetterQueueSourceArn"] = record["eventSourceARN"].clone();
    record["eventSourceARN"] = json!("arn:aws:sqs:us-east-1:000000000000:belfry-local-fanout-customer-dlq");
    scene.stack().invoke("DeadLettersFunction", event).await;
    let letters = scene.stack().operator().await.get("/v1/dead-letters?status=OPEN").await;
    let id = letters.json()["dead_letters"][0]["dead_letter_id"].as_str().map(str::to_owned);
    id.unwrap_or_else(|| panic!("there is a dead letter: {}", letters.text))
}
