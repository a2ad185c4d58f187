//! Unexpected errors: opaque outside, and with a request id to find them by.

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{Answer, Stack, clients};
use reqwest::{Method, StatusCode};
use serde_json::json;

fn is_opaque(answer: &Answer) {
    let text = answer.text.to_lowercase();
    for inside in ["dynamo", "table", "belfry-", "sdk", "serde", "panick", "127.0.0.1", "missing field", "corrupt"] {
        assert!(!text.contains(inside), "{inside} shows in {text}");
    }
    assert_eq!(answer.json().as_object().map(serde_json::Map::len), Some(2), "code and message, nothing else: {text}");
}

#[tokio::test]
async fn a_corrupt_item_is_an_internal_error_that_says_nothing() {
    let stack = Stack::start().await;
    let item = [("user_id", "u-1"), ("stock_keeping_unit", "s"), ("status", "NONSENSE")];
    let put = stack.dynamodb().await.put_item().table_name("belfry-local-entitlements");
    let put = item.into_iter().fold(put, |put, (name, value)| put.item(name, AttributeValue::S(value.to_owned())));
    put.send().await.expect("the item is stored");
    let listed = stack.customer("u-1").await.get("/v1/users/u-1/entitlements").await;
    let granted = stack.shop().await.grant("k", "u-1", "s").await;
    for answer in [listed, granted] {
        assert_eq!((answer.status, answer.code().as_str()), (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"));
        is_opaque(&answer);
    }
    // A 5xx is never stored.
    assert_eq!(stack.count("idempotency-keys").await, 0);
}

#[tokio::test]
async fn a_missing_table_is_an_internal_error_that_says_nothing() {
    let stack = Stack::start().await;
    stack
        .dynamodb()
        .await
        .delete_table()
        .table_name("belfry-local-idempotency-keys")
        .send()
        .await
        .expect("it is deleted");
    let answer = stack.shop().await.grant("k", "u-1", "s").await;
    assert_eq!((answer.status, answer.code().as_str()), (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"));
    is_opaque(&answer);
    assert_eq!(stack.count("entitlements").await, 0, "nothing is half done");
}

#[tokio::test]
async fn an_engine_out_of_reach_is_unavailable_with_a_time_to_come_back() {
    let stack = Stack::behind_a_proxy().await;
    let shop = stack.shop().await;
    let stack = stack.without_engine().await;
    let request = shop.request(Method::POST, "/v1/entitlements/grants").header("idempotency-key", "k");
    let body = json!({"user_id": "u", "stock_keeping_unit": "s", "reason": "r", "purchase_id": "p"});
    let response = request.json(&body).send().await.expect("an answer");
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().contains_key("retry-after"));
    assert!(response.headers().contains_key("x-request-id"));
    let text = response.text().await.expect("a body");
    let answer = Answer { status: StatusCode::SERVICE_UNAVAILABLE, replayed: false, text };
    assert_eq!(answer.code(), "UNAVAILABLE");
    is_opaque(&answer);
    drop(stack);
}

#[tokio::test]
async fn every_answer_carries_a_request_id_of_its_own() {
    let stack = Stack::start().await;
    let client = clients::http();
    let mut seen = std::collections::BTreeSet::new();
    for path in ["/health", "/v1/inbox", "/nothing", "/openapi.json"] {
        let response = client.get(format!("{}{path}", stack.url())).send().await.expect("an answer");
        let id = response.headers().get("x-request-id").unwrap_or_else(|| panic!("{path} has no request id"));
        assert!(seen.insert(id.clone()), "{path} has somebody else's request id");
    }
}
