//! A stack where everything has happened that leaves something in a table.

use harness::{Caller, Stack, announcement, clients};
use local::Options;
use reqwest::StatusCode;
use serde_json::{Value, json};

/// Retries come at once.
pub fn hasty() -> Options {
    let hasty = [("BELFRY_BACKOFF_BASE", "1ms"), ("BELFRY_PROVIDER_TIME_LIMIT", "2s")];
    Options { settings: hasty.map(|(name, value)| (name.to_owned(), value.to_owned())).into(), ..Options::default() }
}

/// A client for the engine that answers there.
pub fn client(url: &str) -> aws_sdk_dynamodb::Client {
    clients::dynamodb("test", url)
}

async fn done(caller: &Caller, path: &str, key: &str, body: &Value, status: StatusCode) -> Value {
    let answer = caller.command(path, key, body).await;
    assert_eq!(answer.status, status, "{path}: {}", answer.text);
    answer.json()
}

async fn people(stack: &Stack) {
    let person = |name: &str, more: Value| {
        let mut person =
            json!({"name": name, "email": format!("{name}@example.com"), "push_tokens": [format!("t-{name}")]});
        person.as_object_mut().expect("a person").extend(more.as_object().expect("more").clone());
        person
    };
    stack.recipient("CUSTOMER", "ugo", person("ugo", json!({"phone": "+390600001"}))).await;
    stack
        .recipient("RESTAURANT_USER", "rosa", person("rosa", json!({"restaurant_id": "r", "phone": "+390600002"})))
        .await;
    stack.recipient("RESTAURANT_USER", "remo", person("remo", json!({"restaurant_id": "r"}))).await;
    stack.recipient("AGENCY_USER", "ada", person("ada", json!({"agency_id": "a"}))).await;
    stack.recipient("ADMIN_USER", "omar", person("omar", json!({}))).await;
}

/// Commands, sagas, notifications and dead letters of every kind; then everything is at rest.
pub async fn busy(stack: &Stack) {
    people(stack).await;
    entitlements(stack).await;
    reservations(stack).await;
    orders(stack).await;
    sends(stack).await;
    letters(stack).await;
    stack.idle().await;
}

async fn entitlements(stack: &Stack) {
    let shop = stack.shop().await;
    let change = json!({"user_id": "ugo", "stock_keeping_unit": "premium", "reason": "r", "purchase_id": "p"});
    for (path, key, status) in [
        ("grants", "g-1", StatusCode::OK),
        ("grants", "g-2", StatusCode::CONFLICT),
        ("revokes", "g-3", StatusCode::OK),
        ("grants", "g-4", StatusCode::OK),
    ] {
        done(&shop, &format!("/v1/entitlements/{path}"), key, &change, status).await;
    }
}

async fn reservations(stack: &Stack) {
    let ugo = stack.customer("ugo").await;
    let asked = json!({
        "customer_id": "ugo", "restaurant_id": "r", "agency_id": "a", "party_size": 2, "slot_time": "2999-12-31T20:00:00Z",
    });
    done(&ugo, "/v1/reservations", "r-1", &asked, StatusCode::CREATED).await;
    stack.idle().await;
    let rosa = stack.caller("rosa", "RESTAURANT_USER", &[]).await;
    let inbox = rosa.get("/v1/inbox").await.json();
    let id = inbox["notifications"][0]["notification_id"].as_str().expect("an id").to_owned();
    let confirmed = json!({"action_type": "CONFIRMED"});
    done(&rosa, &format!("/v1/notifications/{id}/actions"), "a-1", &confirmed, StatusCode::OK).await;
    let second = done(&ugo, "/v1/reservations", "r-2", &asked, StatusCode::CREATED).await;
    let path = format!("/v1/reservations/{}/cancel", second["reservation_id"].as_str().expect("an id"));
    assert_eq!(ugo.order(&path, "r-3").await.status, StatusCode::OK);
    assert_eq!(ugo.order("/v1/inbox/read-all", "all").await.status, StatusCode::OK);
}

async fn orders(stack: &Stack) {
    let operator = stack.operator().await;
    for unit in ["espresso", "wine"] {
        let stock = json!({"available": 10, "unit_price": 250, "currency": "EUR"});
        assert_eq!(operator.put(&format!("/v1/inventory/{unit}"), &stock).await.status, StatusCode::OK);
    }
    let ugo = stack.customer("ugo").await;
    let lines = |quantity: u64| {
        json!({"customer_id": "ugo", "lines": [
            {"stock_keeping_unit": "espresso", "quantity": quantity}, {"stock_keeping_unit": "wine", "quantity": 1},
        ]})
    };
    done(&ugo, "/v1/orders", "o-1", &lines(2), StatusCode::CREATED).await;
    done(&ugo, "/v1/orders", "o-2", &lines(99), StatusCode::CREATED).await;
    stack.idle().await;
    stack.fault("PAYMENT", "reject", Some(1)).await;
    done(&ugo, "/v1/orders", "o-3", &lines(1), StatusCode::CREATED).await;
    stack.idle().await;
    let called_off = done(&ugo, "/v1/orders", "o-4", &lines(3), StatusCode::CREATED).await;
    let path = format!("/v1/orders/{}/cancel", called_off["order_id"].as_str().expect("an id"));
    let cancelled = ugo.order(&path, "o-5").await;
    assert!([StatusCode::OK, StatusCode::CONFLICT].contains(&cancelled.status), "{}", cancelled.text);
}

async fn sends(stack: &Stack) {
    let source = stack.source().await;
    // Given up, refused, held, and one that nobody knows of.
    for (event_id, channel, mode, times) in [
        ("e-1", "EMAIL", "error", 5),
        ("e-2", "PUSH", "reject", 1),
        ("e-3", "SMS", "drop_answer", 1),
        ("e-4", "EMAIL", "drop_answer", 1),
    ] {
        stack.fault(channel, mode, Some(times)).await;
        let mut event = announcement(event_id, "ugo", "Hello");
        event["payload"]["channels"] = json!([channel]);
        event["payload"]["urgent"] = json!(true);
        assert_eq!(source.hand_in(&event).await.status, StatusCode::ACCEPTED);
        stack.idle().await;
    }
}

/// Poison, discarded; a message that was given up, redriven.
async fn letters(stack: &Stack) {
    let operator = stack.operator().await;
    stack.inject("fanout-customer", "poison").await;
    stack.idle().await;
    let open = operator.all("/v1/dead-letters?status=OPEN", "dead_letters").await;
    for letter in open {
        let verb = match letter["queue"].as_str() {
            Some("fanout-customer") => "discard",
            Some("deliver-email") => "redrive",
            _ => continue,
        };
        let id = letter["dead_letter_id"].as_str().expect("an id");
        let handled = operator.order(&format!("/v1/dead-letters/{id}/{verb}"), &format!("l-{id}")).await;
        assert_eq!(handled.status, StatusCode::OK, "{}", handled.text);
    }
}
