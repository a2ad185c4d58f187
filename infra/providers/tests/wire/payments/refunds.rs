//! Refunds: the whole charge, once.

use super::{charged, created, get, json, post};
use crate::Stage;

#[tokio::test]
async fn charge_is_refunded_once() {
    let stage = Stage::start().await;
    let id = charged(&stage).await;
    let form = [("payment_intent", &*id)];
    let refund = json(post(&stage, "k1", "refunds", &form).await, 200).await;
    assert_eq!(refund["amount"], 1250);
    assert_eq!(refund["payment_intent"], id);
    assert_eq!(refund["status"], "succeeded");
    let again = json(post(&stage, "k2", "refunds", &form).await, 400).await;
    assert_eq!(again["error"]["code"], "charge_already_refunded");
    assert_eq!(get(&stage, "refunds").await["data"], serde_json::json!([refund]));
}

#[tokio::test]
async fn intent_without_charge_is_not_refunded() {
    let stage = Stage::start().await;
    let id = created(&stage).await;
    let error = json(post(&stage, "k", "refunds", &[("payment_intent", &id)]).await, 400).await;
    assert_eq!(error["error"]["type"], "invalid_request_error");
}
