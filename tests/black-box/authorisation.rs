//! Every route against every kind of caller.

use std::collections::BTreeSet;

use harness::{Caller, Stack};
use reqwest::Method;
use serde_json::{Value, json};

/// A route, an example of it that concerns user `u-1`, and what each caller gets.
struct Row {
    method: Method,
    route: &'static str,
    path: &'static str,
    body: fn() -> Option<Value>,
    /// The customer `u-1`, without scopes.
    own: u16,
    /// The customer `u-2`, without scopes.
    foreign: u16,
    /// An admin with every scope but the one that the route asks for.
    missing_scope: u16,
    /// An admin with the scopes that the route asks for.
    with_scope: u16,
    /// The scope that the route asks for, if it asks for one.
    scope: &'static [&'static str],
}

const ALL_SCOPES: [&str; 4] = ["commands:write", "events:write", "recipients:write", "operate"];

fn nothing() -> Option<Value> {
    None
}

fn change() -> Option<Value> {
    Some(json!({"user_id": "u-1", "stock_keeping_unit": "s", "reason": "r", "purchase_id": "p"}))
}

fn recipient() -> Option<Value> {
    Some(json!({"name": "N"}))
}

fn event() -> Option<Value> {
    let payload = json!({"title": "t", "body": "b", "audience": "CUSTOMER", "user_id": "u-1"});
    Some(json!({
        "event_id": "e", "event_type": "Announcement", "aggregate_type": "Campaign", "aggregate_id": "c", "payload": payload,
    }))
}

fn reservation() -> Option<Value> {
    Some(json!({
        "customer_id": "u-1", "restaurant_id": "r-1", "party_size": 2, "slot_time": "2999-12-31T20:00:00Z",
    }))
}

fn order() -> Option<Value> {
    Some(json!({"customer_id": "u-1", "lines": [{"stock_keeping_unit": "s", "quantity": 1}]}))
}

fn stock() -> Option<Value> {
    Some(json!({"available": 1, "unit_price": 1, "currency": "EUR"}))
}

fn action() -> Option<Value> {
    Some(json!({"action_type": "CONFIRMED"}))
}

fn preferences() -> Option<Value> {
    Some(json!({"preferences": []}))
}

fn all_dead_letters() -> Option<Value> {
    Some(json!({"filter": {}}))
}

/// A dead letter that there is not.
const LETTER: &str = "/v1/dead-letters/6f1d3c7e-0000-5000-8000-000000000000";

/// Notifications that there are not; `reading.rs` and `actions.rs` have some that there are.
const READ: &str = "/v1/notifications/01a1e35e-0000-7000-8000-000000000000/read";
const ACT: &str = "/v1/notifications/01a1e35e-0000-7000-8000-000000000000/actions";

/// A reservation that there is not; `reservation_rights.rs` has one that there is.
const RESERVATION: &str = "/v1/reservations/01a1e35e-0000-7000-8000-000000000000";
const ACCEPT: &str = "/v1/reservations/01a1e35e-0000-7000-8000-000000000000/accept";
const REJECT: &str = "/v1/reservations/01a1e35e-0000-7000-8000-000000000000/reject";
const CANCEL: &str = "/v1/reservations/01a1e35e-0000-7000-8000-000000000000/cancel";

/// An order that there is not; `orders.rs` has some that there are.
const ORDER: &str = "/v1/orders/01a1e35e-0000-7000-8000-000000000000";
const CANCEL_ORDER: &str = "/v1/orders/01a1e35e-0000-7000-8000-000000000000/cancel";

fn rows() -> Vec<Row> {
    let row = |method, route, path, body, codes: [u16; 4], scope| Row {
        method,
        route,
        path,
        body,
        own: codes[0],
        foreign: codes[1],
        missing_scope: codes[2],
        with_scope: codes[3],
        scope,
    };
    let read_entitlements: &[&str] = &["operate", "commands:write"];
    vec![
        row(
            Method::POST,
            "/v1/entitlements/grants",
            "/v1/entitlements/grants",
            change,
            [403, 403, 403, 200],
            &["commands:write"],
        ),
        row(
            Method::POST,
            "/v1/entitlements/revokes",
            "/v1/entitlements/revokes",
            change,
            [403, 403, 403, 200],
            &["commands:write"],
        ),
        row(
            Method::GET,
            "/v1/users/{user_id}/entitlements",
            "/v1/users/u-1/entitlements",
            nothing,
            [200, 404, 404, 200],
            read_entitlements,
        ),
        row(
            Method::GET,
            "/v1/users/{user_id}/entitlements/{stock_keeping_unit}/history",
            "/v1/users/u-1/entitlements/s/history",
            nothing,
            [200, 404, 404, 200],
            read_entitlements,
        ),
        row(
            Method::GET,
            "/v1/idempotency-keys/{key}",
            "/v1/idempotency-keys/k?caller=u-1",
            nothing,
            [403, 403, 403, 404],
            &["operate"],
        ),
        row(
            Method::DELETE,
            "/v1/idempotency-keys/{key}",
            "/v1/idempotency-keys/k?caller=u-1",
            nothing,
            [403, 403, 403, 404],
            &["operate"],
        ),
        row(
            Method::PUT,
            "/v1/recipients/{user_type}/{user_id}",
            "/v1/recipients/CUSTOMER/u-1",
            recipient,
            [403, 403, 403, 200],
            &["recipients:write"],
        ),
        row(
            Method::GET,
            "/v1/recipients/{user_type}/{user_id}",
            "/v1/recipients/CUSTOMER/u-1",
            nothing,
            [200, 404, 404, 200],
            &["recipients:write", "operate"],
        ),
        row(
            Method::DELETE,
            "/v1/recipients/{user_type}/{user_id}",
            "/v1/recipients/CUSTOMER/nobody",
            nothing,
            [403, 403, 403, 404],
            &["recipients:write"],
        ),
        row(
            Method::POST,
            "/v1/reservations",
            "/v1/reservations",
            reservation,
            [201, 403, 403, 201],
            &["commands:write"],
        ),
        row(
            Method::GET,
            "/v1/reservations/{id}",
            RESERVATION,
            nothing,
            [404, 404, 404, 404],
            &["operate", "commands:write"],
        ),
        row(Method::POST, "/v1/reservations/{id}/accept", ACCEPT, nothing, [404, 404, 404, 404], &["commands:write"]),
        row(Method::POST, "/v1/reservations/{id}/reject", REJECT, nothing, [404, 404, 404, 404], &["commands:write"]),
        row(Method::POST, "/v1/reservations/{id}/cancel", CANCEL, nothing, [404, 404, 404, 404], &["commands:write"]),
        row(Method::POST, "/v1/events", "/v1/events", event, [403, 403, 403, 202], &["events:write"]),
        row(Method::GET, "/v1/events/{event_id}", "/v1/events/none", nothing, [403, 403, 403, 404], &["operate"]),
        row(Method::GET, "/v1/outbox", "/v1/outbox?status=FAILED", nothing, [403, 403, 403, 200], &["operate"]),
        row(Method::GET, "/v1/overview", "/v1/overview", nothing, [403, 403, 403, 200], &["operate"]),
        row(
            Method::GET,
            "/v1/events",
            "/v1/events?aggregate_type=Order&aggregate_id=unknown",
            nothing,
            [403, 403, 403, 200],
            &["operate"],
        ),
        row(
            Method::POST,
            "/v1/outbox/{event_id}/republish",
            "/v1/outbox/unknown/republish",
            nothing,
            [403, 403, 403, 404],
            &["operate"],
        ),
        row(Method::GET, "/v1/dead-letters", "/v1/dead-letters", nothing, [403, 403, 403, 200], &["operate"]),
        row(Method::GET, "/v1/dead-letters/{id}", LETTER, nothing, [403, 403, 403, 404], &["operate"]),
        row(
            Method::POST,
            "/v1/dead-letters/redrive",
            "/v1/dead-letters/redrive",
            all_dead_letters,
            [403, 403, 403, 202],
            &["operate"],
        ),
        row(
            Method::POST,
            "/v1/dead-letters/{id}/redrive",
            "/v1/dead-letters/6f1d3c7e-0000-5000-8000-000000000000/redrive",
            nothing,
            [403, 403, 403, 404],
            &["operate"],
        ),
        row(
            Method::POST,
            "/v1/dead-letters/{id}/discard",
            "/v1/dead-letters/6f1d3c7e-0000-5000-8000-000000000000/discard",
            nothing,
            [403, 403, 403, 404],
            &["operate"],
        ),
        row(Method::POST, "/v1/orders", "/v1/orders", order, [201, 403, 403, 201], &["commands:write"]),
        row(Method::GET, "/v1/orders/{id}", ORDER, nothing, [404, 404, 404, 404], &["commands:write"]),
        row(Method::POST, "/v1/orders/{id}/cancel", CANCEL_ORDER, nothing, [404, 404, 404, 404], &["commands:write"]),
        row(
            Method::PUT,
            "/v1/inventory/{stock_keeping_unit}",
            "/v1/inventory/s",
            stock,
            [403, 403, 403, 200],
            &["operate"],
        ),
        row(
            Method::GET,
            "/v1/inventory/{stock_keeping_unit}",
            "/v1/inventory/s",
            nothing,
            [403, 403, 403, 200],
            &["operate"],
        ),
        row(Method::GET, "/v1/inbox", "/v1/inbox", nothing, [200, 200, 200, 200], &[]),
        row(Method::POST, "/v1/live/tickets", "/v1/live/tickets", nothing, [201, 201, 201, 201], &[]),
        row(Method::POST, "/v1/inbox/read-all", "/v1/inbox/read-all", nothing, [200, 200, 200, 200], &[]),
        row(Method::POST, "/v1/notifications/{id}/read", READ, nothing, [404, 404, 404, 404], &[]),
        row(Method::POST, "/v1/notifications/{id}/actions", ACT, action, [404, 404, 404, 404], &[]),
        // Of these callers, somebody has put a record of the user themselves alone.
        row(Method::PUT, "/v1/inbox/preferences", "/v1/inbox/preferences", preferences, [200, 404, 404, 404], &[]),
        row(
            Method::GET,
            "/debug/notification/inbox/{user_id}",
            "/debug/notification/inbox/u-1?user_type=CUSTOMER",
            nothing,
            [403, 403, 403, 200],
            &["operate"],
        ),
    ]
}

async fn call(caller: &Caller, row: &Row) -> u16 {
    let mut request = caller.request(row.method.clone(), row.path);
    if row.method == Method::POST {
        request = request.header("idempotency-key", row.route);
    }
    if let Some(body) = (row.body)() {
        request = request.json(&body);
    }
    caller.send(request).await.status.as_u16()
}

#[tokio::test]
async fn every_route_answers_every_kind_of_caller_as_it_must() {
    let stack = Stack::start().await;
    let (own, foreign) = (stack.customer("u-1").await, stack.customer("u-2").await);
    let unknown = own.clone().with_token("nonsense");
    let nobody = own.clone().with_token("");
    let run_out =
        own.clone().with_token(&stack.token(json!({"sub": "u-1", "user_type": "CUSTOMER", "expires_in": -1})).await);
    for row in rows() {
        let all_but: Vec<&str> = ALL_SCOPES.into_iter().filter(|scope| !row.scope.contains(scope)).collect();
        let missing = stack.caller("admin", "ADMIN_USER", &all_but).await;
        let named = format!("{} {}", row.method, row.path);
        for (who, caller, expected) in [
            ("no token", &nobody, 401),
            ("a wrong token", &unknown, 401),
            ("a token that ran out", &run_out, 401),
            ("the user themselves", &own, row.own),
            ("another user", &foreign, row.foreign),
            ("an admin without the scope", &missing, row.missing_scope),
        ] {
            assert_eq!(call(caller, &row).await, expected, "{named} by {who}");
        }
        // A scope that is missing counts before anything else of the request: no key, no JSON, no matter.
        if row.missing_scope == 403 {
            let garbage = missing.request(row.method.clone(), row.path).header("content-type", "text/plain").body("{");
            assert_eq!(missing.send(garbage).await.status.as_u16(), 403, "{named} with garbage and without the scope");
        }
        for scope in row.scope {
            let scoped = stack.caller("admin", "ADMIN_USER", &[scope]).await;
            assert_eq!(call(&scoped, &row).await, row.with_scope, "{named} with {scope}");
            // Once is enough for a command: the second would be a replay.
            if row.method == Method::POST {
                break;
            }
        }
    }
}

#[tokio::test]
async fn no_route_is_left_out_of_the_table() {
    let described = Stack::start().await.call(Method::GET, "/openapi.json", None).await.json();
    let methods = |(path, item): (&String, &Value)| {
        let methods: Vec<String> =
            item.as_object().expect("methods").keys().map(|method| method.to_uppercase()).collect();
        methods.into_iter().map(move |method| format!("{method} {path}")).collect::<Vec<_>>()
    };
    let described: BTreeSet<String> = described["paths"].as_object().expect("paths").iter().flat_map(methods).collect();
    let mut walked: BTreeSet<String> = rows().iter().map(|row| format!("{} {}", row.method, row.route)).collect();
    walked.extend(
        ["GET /health", "GET /schemas/{event_type}", "GET /v1/unsubscribe/{signed}", "POST /v1/unsubscribe/{signed}"]
            .map(str::to_owned),
    );
    assert_eq!(described, walked);
}

#[tokio::test]
async fn a_key_of_one_caller_tells_another_nothing() {
    let stack = Stack::start().await;
    stack.shop().await.grant("k", "u-1", "s").await;
    let other = stack.caller("other", "ADMIN_USER", &["commands:write"]).await;
    let answer = other.grant("k", "u-1", "s").await;
    assert_eq!((answer.code().as_str(), answer.replayed), ("ENTITLEMENT_STATE_CONFLICT", false));
}

#[tokio::test]
async fn the_description_names_the_scope_that_a_route_asks_for() {
    let stack = Stack::start().await;
    let described = stack.call(Method::GET, "/openapi.json", None).await.json();
    let nobody = stack.caller("nobody", "ADMIN_USER", &[]).await;
    for row in rows() {
        let operation = &described["paths"][row.route][row.method.as_str().to_lowercase()];
        let security = operation.get("security").unwrap_or(&described["security"]);
        // The scope counts before anything else of the request, so garbage finds it and changes nothing.
        let garbage = nobody.request(row.method.clone(), row.path).header("content-type", "text/plain").body("{");
        let answer = nobody.send(garbage).await.json();
        let message = answer["message"].as_str().unwrap_or_default();
        let scope = message.strip_prefix("the scope ").and_then(|rest| rest.strip_suffix(" is missing"));
        let scopes: Vec<&str> = scope.into_iter().collect();
        assert_eq!(*security, json!([{"jwt": scopes}]), "{} {}", row.method, row.route);
    }
}
