//! Bad input: a clear error with a code, and nothing done.

use harness::{Caller, Stack};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

const GRANTS: &str = "/v1/entitlements/grants";

fn grant() -> Value {
    json!({"user_id": "u", "stock_keeping_unit": "s", "reason": "r", "purchase_id": "p"})
}

fn with(field: &str, value: Value) -> Value {
    let mut body = grant();
    body[field] = value;
    body
}

async fn post(caller: &Caller, body: impl Into<reqwest::Body>) -> harness::Answer {
    let request = caller.request(Method::POST, GRANTS).header("idempotency-key", "k");
    caller.send(request.header("content-type", "application/json").body(body)).await
}

#[tokio::test]
async fn a_body_that_is_not_what_it_must_be_is_a_400_that_names_the_field() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let mut missing = grant();
    missing.as_object_mut().expect("an object").remove("reason");
    let cases = [
        ("user_id", with("user_id", json!(""))),
        ("user_id", with("user_id", json!(7))),
        ("user_id", with("user_id", json!("a b"))),
        ("user_id", with("user_id", json!("zero\u{200b}width"))),
        ("user_id", with("user_id", json!("x".repeat(129)))),
        ("stock_keeping_unit", with("stock_keeping_unit", Value::Null)),
        ("reason", with("reason", json!("two\nlines"))),
        ("unknown", with("unknown", json!(1))),
        ("body", missing),
        ("body", json!([])),
    ];
    for (field, body) in cases {
        let refused = post(&shop, body.to_string()).await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::BAD_REQUEST, "BAD_REQUEST"), "{body}");
        assert_eq!(refused.json()["details"][0]["field"], field, "{body}: {}", refused.text);
    }
    let deep = format!("{{\"user_id\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    for text in ["", "{", "nonsense", "{\"user_id\":\"u\",\"user_id\":\"v\"}", deep.as_str(), "\u{feff}{}"] {
        assert_eq!(post(&shop, text.to_owned()).await.code(), "BAD_REQUEST", "{text:.40}");
    }
    assert_eq!(post(&shop, vec![b'{', b'"', 0xff, b'"', b'}']).await.code(), "BAD_REQUEST");
    // A 400 depends on the request alone and is not stored: the key is still free.
    assert_eq!(stack.count("idempotency-keys").await, 0);
    assert_eq!(post(&shop, grant().to_string()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_body_too_large_or_of_another_type_is_refused() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    for size in [128 * 1024 + 1, 1024 * 1024] {
        let refused = post(&shop, vec![b' '; size]).await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"));
    }
    let mut largest = grant().to_string().into_bytes();
    largest.resize(128 * 1024, b' ');
    assert_eq!(post(&shop, largest).await.status, StatusCode::OK);

    for media_type in ["text/plain", "application/xml", "application/json-patch+json"] {
        let request =
            shop.request(Method::POST, GRANTS).header("idempotency-key", "k").header("content-type", media_type);
        let refused = shop.send(request.body(grant().to_string())).await;
        let expected = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE");
        assert_eq!((refused.status, refused.code().as_str()), expected, "{media_type}");
    }
}

#[tokio::test]
async fn a_key_must_be_1_to_255_visible_characters() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let too_long = "k".repeat(256);
    for key in ["", "a b", "ü", too_long.as_str()] {
        let request = shop.request(Method::POST, GRANTS).header("idempotency-key", key.as_bytes()).json(&grant());
        let refused = shop.send(request).await;
        assert_eq!(refused.json()["details"][0]["field"], "Idempotency-Key", "{key:.20}: {}", refused.text);
    }
    let none = shop.send(shop.request(Method::POST, GRANTS).json(&grant())).await;
    assert_eq!((none.status, none.code().as_str()), (StatusCode::BAD_REQUEST, "BAD_REQUEST"));
    assert_eq!(shop.grant(&"k".repeat(255), "u", "s").await.status, StatusCode::OK);
}

#[tokio::test]
async fn ids_that_look_like_parts_of_keys_reach_nobody_elses_data() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let users = ["a", "a#b", "a%23b", "a/b", "CUSTOMER#a", "%", "予約", "a%2Fb"];
    for (index, user) in users.iter().enumerate() {
        assert_eq!(
            shop.grant(&format!("k-{index}"), user, &format!("unit-{index}")).await.status,
            StatusCode::OK,
            "{user}"
        );
    }
    stack.idle().await;
    for (index, user) in users.iter().enumerate() {
        let titles = stack.customer(user).await.inbox_titles().await;
        assert_eq!(titles, [format!("unit-{index} is yours")], "{user}");
    }
}

#[tokio::test]
async fn queries_and_paths_are_checked_too() {
    let stack = Stack::start().await;
    let customer = stack.customer("u").await;
    for query in ["limit=0", "limit=101", "limit=many", "cursor=%21", "cursor=", "unread=maybe"] {
        let refused = customer.get(&format!("/v1/inbox?{query}")).await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::BAD_REQUEST, "BAD_REQUEST"), "{query}");
    }
    let operator = stack.caller("o", "ADMIN_USER", &["operate"]).await;
    for path in [
        "/debug/notification/inbox/u",
        "/debug/notification/inbox/u?user_type=NOBODY",
        "/debug/notification/inbox/%20?user_type=CUSTOMER",
        "/debug/notification/inbox/%FF?user_type=CUSTOMER",
        "/v1/users/%FF/entitlements",
        "/v1/inbox?unread=%FF",
    ] {
        assert_eq!(operator.get(path).await.code(), "BAD_REQUEST", "{path}");
    }
    for path in ["/v1/nothing", "/v1/entitlements/grants", "/v2"] {
        assert_eq!(operator.get(path).await.code(), "NOT_FOUND", "{path}");
    }
}

#[tokio::test]
async fn a_recipient_is_checked_field_by_field_and_stored_whole() {
    let stack = Stack::start().await;
    let writer = stack.caller("crm", "ADMIN_USER", &["recipients:write"]).await;
    let put = async |path: &str, body: Value| writer.send(writer.request(Method::PUT, path).json(&body)).await;
    let rosa = json!({
        "name": "Rosa Ricci", "email": "rosa@example.com", "phone": "+390612345678", "push_tokens": ["t-1"],
        "slack_webhook_url": "https://hooks.slack.com/services/a/b/c", "restaurant_id": "r-1", "locale": "it",
        "time_zone": "Europe/Rome", "preferences": [{"event_type": "*", "channel": "SMS", "enabled": false}],
    });
    let stored = put("/v1/recipients/RESTAURANT_USER/rosa", rosa.clone()).await;
    assert_eq!(stored.status, StatusCode::OK, "{}", stored.text);
    for (field, value) in rosa.as_object().expect("an object") {
        assert_eq!(&stored.json()[field], value, "{field}");
    }
    assert_eq!(stored.json()["user_type"], "RESTAURANT_USER");
    let cases = [
        ("/v1/recipients/NOBODY/rosa", json!({"name": "R"}), "user_type"),
        ("/v1/recipients/CUSTOMER/rosa", json!({"name": "R", "email": "not an address"}), "email"),
        ("/v1/recipients/CUSTOMER/rosa", json!({"name": "R", "phone": "06 123"}), "phone"),
        ("/v1/recipients/CUSTOMER/rosa", json!({"name": "R", "restaurant_id": "r"}), "restaurant_id"),
        ("/v1/recipients/RESTAURANT_USER/rosa", json!({"name": "R"}), "restaurant_id"),
        (
            "/v1/recipients/CUSTOMER/rosa",
            json!({"name": "R", "preferences": [{"event_type": "*", "channel": "FAX", "enabled": true}]}),
            "preferences[0].channel",
        ),
        ("/v1/recipients/CUSTOMER/rosa", json!({"name": "R", "nickname": "x"}), "nickname"),
    ];
    for (path, body, field) in cases {
        let refused = put(path, body.clone()).await;
        assert_eq!(refused.json()["details"][0]["field"], field, "{body}: {}", refused.text);
    }
    let stranger = stack.customer("rosa").await;
    let refused =
        stranger.send(stranger.request(Method::PUT, "/v1/recipients/CUSTOMER/rosa").json(&json!({"name": "R"}))).await;
    assert_eq!(refused.code(), "FORBIDDEN");
}
