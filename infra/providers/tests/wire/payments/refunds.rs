//! Refunds, and that they never exceed the charge.

use super::{charged, created, get, json, post};
use crate::Stage;

#[tokio::test]
async fn a_charge_is_refunded_in_parts_but_never_beyond_it() {
    let stage = Stage::start().await;
    let id = charged(&stage).await;
    let part = [("payment_intent", &*id), ("amount", "1000")];
    let refund = json(post(&stage, "k1", "refunds", &part).await, 200).await;
    assert_eq!(refund["amount"], 1000);
    assert_eq!(refund["payment_intent"], id);
    assert_eq!(refund["status"], "succeeded");

    let too_much = json(post(&stage, "k2", "refunds", &part).await, 400).await;
    assert_eq!(too_much["error"]["param"], "amount");

    let rest = [("payment_intent", &*id)];
    let refund = json(post(&stage, "k3", "refunds", &rest).await, 200).await;
    assert_eq!(refund["amount"], 250);
    let nothing_left = json(post(&stage, "k4", "refunds", &rest).await, 400).await;
    assert_eq!(nothing_left["error"]["code"], "charge_already_refunded");
}

#[tokio::test]
async fn the_refunds_of_one_intent_are_listed_without_another_ones() {
    let stage = Stage::start().await;
    let id = charged(&stage).await;
    let refund = json(post(&stage, "k", "refunds", &[("payment_intent", &id)]).await, 200).await;
    let list = get(&stage, &format!("refunds?payment_intent={id}")).await;
    assert_eq!(list["data"], serde_json::json!([refund]));
    let list = get(&stage, "refunds?payment_intent=pi_other").await;
    assert_eq!(list["data"], serde_json::json!([]));
}

#[tokio::test]
async fn what_was_not_charged_cannot_be_refunded() {
    let stage = Stage::start().await;
    let id = created(&stage).await;
    let error = json(post(&stage, "k", "refunds", &[("payment_intent", &id)]).await, 400).await;
    assert_eq!(error["error"]["type"], "invalid_request_error");
}
