//! The state machine of an intent.

use providers::{Mode, Outcome, Target};

use super::{ORDER, cancel, charged, confirm, created, get, json, post};
use crate::{PATIENT, Stage, http};

#[tokio::test]
async fn intent_is_created_confirmed_and_read() {
    let stage = Stage::start().await;
    let intent = json(post(&stage, "k1", "payment_intents", &ORDER).await, 200).await;
    assert_eq!(intent["status"], "requires_confirmation");
    assert_eq!(intent["amount"], 1250);
    assert_eq!(intent["currency"], "eur");
    assert_eq!(intent["metadata"]["order_id"], "o-1");

    let id = intent["id"].as_str().unwrap();
    let charged = json(post(&stage, "k2", &confirm(id), &[]).await, 200).await;
    assert_eq!(charged["status"], "succeeded");
    assert_eq!(charged["amount_received"], 1250);
    assert!(charged["latest_charge"].is_string());
    assert_eq!(get(&stage, &format!("payment_intents/{id}")).await, charged);
}

#[tokio::test]
async fn call_is_recorded_as_received() {
    let stage = Stage::start().await;
    created(&stage).await;
    get(&stage, "payment_intents?limit=3").await;
    let sent = stage.providers.sent(Some(Target::Payment));
    assert_eq!(sent[0].idempotency_key.as_deref(), Some("create"));
    let call = sent[0].payment.as_ref().unwrap();
    assert_eq!((&*call.method, &*call.path), ("POST", "/v1/payment_intents"));
    assert_eq!(call.form["metadata[order_id]"], "o-1");
    let call = sent[1].payment.as_ref().unwrap();
    assert_eq!((&*call.method, &*call.form["limit"]), ("GET", "3"));
}

#[tokio::test]
async fn succeeded_intent_is_neither_confirmed_nor_cancelled() {
    let stage = Stage::start().await;
    let id = charged(&stage).await;
    for path in [confirm(&id), cancel(&id)] {
        let error = json(post(&stage, &path, &path, &[]).await, 400).await;
        assert_eq!(error["error"]["code"], "payment_intent_unexpected_state");
        assert_eq!(error["error"]["payment_intent"]["status"], "succeeded");
    }
}

#[tokio::test]
async fn cancelled_intent_is_not_charged() {
    let stage = Stage::start().await;
    let id = created(&stage).await;
    let cancelled = json(post(&stage, "k1", &cancel(&id), &[]).await, 200).await;
    assert_eq!(cancelled["status"], "canceled");
    let error = json(post(&stage, "k2", &confirm(&id), &[]).await, 400).await;
    assert_eq!(error["error"]["code"], "payment_intent_unexpected_state");
}

#[tokio::test]
async fn declined_intent_can_be_confirmed_with_another_key() {
    let stage = Stage::start().await;
    stage.fault(Target::Payment, Mode::Reject, 1);
    let id = created(&stage).await;
    let error = json(post(&stage, "k1", &confirm(&id), &[]).await, 402).await;
    assert_eq!(error["error"]["type"], "card_error");
    assert_eq!(error["error"]["code"], "card_declined");
    let intent = &error["error"]["payment_intent"];
    assert_eq!(intent["status"], "requires_payment_method");
    assert_eq!(intent["last_payment_error"]["code"], "card_declined");

    let again = json(post(&stage, "k2", &confirm(&id), &[]).await, 200).await;
    assert_eq!(again["status"], "succeeded");
    assert_eq!(stage.outcomes(Target::Payment), [Outcome::Accepted, Outcome::Rejected, Outcome::Accepted]);
}

#[tokio::test]
async fn list_is_newest_first_and_continues_after_its_last_item() {
    let stage = Stage::start().await;
    let mut ids = Vec::new();
    for key in ["k1", "k2", "k3"] {
        let intent = json(post(&stage, key, "payment_intents", &ORDER).await, 200).await;
        ids.insert(0, intent["id"].clone());
    }
    let first = get(&stage, "payment_intents?limit=2").await;
    assert_eq!(first["has_more"], true);
    assert_eq!(first["data"][0]["id"], ids[0]);
    let after = first["data"][1]["id"].as_str().unwrap();
    let path = format!("payment_intents?limit=2&starting_after={after}");
    let second = get(&stage, &path).await;
    assert_eq!(second["has_more"], false);
    assert_eq!(second["data"][0]["id"], ids[2]);
}

#[tokio::test]
async fn invalid_request_names_its_parameter() {
    let stage = Stage::start().await;
    let error = json(post(&stage, "k", "payment_intents", &[]).await, 400).await;
    assert_eq!(error["error"]["code"], "parameter_missing");
    assert_eq!(error["error"]["param"], "amount");
    let error = json(post(&stage, "k", "payment_intents", &[("amount", "-1")]).await, 400).await;
    assert_eq!(error["error"]["code"], "parameter_invalid_integer");
    let error = json(post(&stage, "k", &confirm("pi_none"), &[]).await, 404).await;
    assert_eq!(error["error"]["code"], "resource_missing");
}

#[tokio::test]
async fn call_without_api_key_is_unauthorized() {
    let stage = Stage::start().await;
    let request = http(PATIENT).get(format!("{}/v1/payment_intents", stage.url));
    assert_eq!(request.send().await.unwrap().status(), 401);
}
