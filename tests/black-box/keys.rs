//! Keys: how long they live, and what an operator can do with them.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::AttributeValue;
use harness::Stack;
use reqwest::{Method, StatusCode};

#[tokio::test]
async fn an_operator_looks_a_key_up_and_evicts_it() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let granted = shop.grant("a/b#c%d", "u", "s").await;
    let operator = stack.caller("omar", "ADMIN_USER", &["operate"]).await;
    let path = "/v1/idempotency-keys/a%2Fb%23c%25d?caller=shop";
    let found = operator.get(path).await;
    assert_eq!(found.status, StatusCode::OK, "{}", found.text);
    assert_eq!(found.json()["body"], granted.text, "the stored answer, byte for byte");
    assert_eq!((&found.json()["status"], &found.json()["caller"]), (&200.into(), &"shop".into()));
    assert_eq!(found.json()["event_ids"], serde_json::json!(stack.column("events", "event_id").await));
    assert_eq!(operator.get("/v1/idempotency-keys/a%2Fb%23c%25d?caller=other").await.code(), "NOT_FOUND");
    assert_eq!(operator.get("/v1/idempotency-keys/a%2Fb%23c%25d").await.code(), "BAD_REQUEST");

    let evict = async || operator.send(operator.request(Method::DELETE, path)).await;
    assert_eq!(evict().await.status, StatusCode::NO_CONTENT);
    assert_eq!(evict().await.code(), "NOT_FOUND");
    assert_eq!(operator.get(path).await.code(), "NOT_FOUND");
    // The key is free again: the same request is a first one, and meets the state as it is.
    let again = shop.grant("a/b#c%d", "u", "s").await;
    assert_eq!((again.status, again.replayed), (StatusCode::CONFLICT, false));
    assert_eq!(operator.get(path).await.json()["event_ids"], serde_json::json!([]), "a refusal has no event");
}

#[tokio::test]
async fn a_key_that_has_run_out_counts_as_absent_though_its_record_is_still_there() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let run_out = async || {
        // The clock says exactly the expiry, or later.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
        let update = stack.dynamodb().await.update_item().table_name("belfry-local-idempotency-keys");
        let update = update
            .key("caller_key", AttributeValue::S("https://belfry.local#shop#k".to_owned()))
            .update_expression("SET expires_at = :now")
            .condition_expression("attribute_exists(caller_key)")
            .expression_attribute_values(":now", AttributeValue::N(now.to_string()));
        update.send().await.expect("the record is there");
    };
    let mut seen = Vec::new();
    for unit in ["s", "s", "other", "other"] {
        let answer = shop.grant("k", "u", unit).await;
        seen.push((answer.status.as_u16(), answer.replayed));
        run_out().await;
    }
    assert_eq!(seen, [(200, false), (409, false), (200, false), (409, false)]);
    assert_eq!(stack.count("idempotency-keys").await, 1, "one record, overwritten each time");
    assert_eq!(stack.count("events").await, 2);
    let operator = stack.caller("omar", "ADMIN_USER", &["operate"]).await;
    assert_eq!(operator.get("/v1/idempotency-keys/k?caller=shop").await.code(), "NOT_FOUND");
}

#[tokio::test]
async fn every_end_of_a_command_is_counted() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    shop.grant("k", "u", "s").await;
    shop.grant("k", "u", "s").await;
    shop.grant("k", "u", "other").await;
    shop.grant("l", "u", "s").await;
    let metrics = stack.call(Method::GET, "/local/metrics", None).await.json();
    let lines = metrics["metrics"].as_array().expect("a list").clone();
    let sum = |name: &str| lines.iter().filter_map(|line| line[name].as_u64()).sum::<u64>();
    let counts = ["Accepted", "Replayed", "Conflicted", "Refused"].map(sum);
    assert_eq!(counts, [1, 1, 1, 1]);
    assert_eq!(sum("Raced"), 3, "a replay, a conflict and a refusal of a grant each meet what stands there");
    assert_eq!(lines.iter().filter(|line| line["Command"] == "grant").count(), 4);
    assert_eq!(lines[0]["_aws"]["CloudWatchMetrics"][0]["Namespace"], "Belfry");
}
