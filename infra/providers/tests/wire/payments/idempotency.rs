//! Idempotency keys: replayed, misused, raced and forgotten.

use providers::{Mode, Outcome, Target};

use super::{ORDER, charged, confirm, created, get, json, post};
use crate::Stage;

#[tokio::test]
async fn repeated_key_returns_the_first_answer_without_a_second_effect() {
    let stage = Stage::start().await;
    let first = post(&stage, "k", "payment_intents", &ORDER).await;
    assert!(first.headers().get("idempotent-replayed").is_none());
    let again = post(&stage, "k", "payment_intents", &ORDER).await;
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(json(first, 200).await, json(again, 200).await);
    assert_eq!(stage.outcomes(Target::Payment), [Outcome::Accepted, Outcome::Replayed]);
    let list = get(&stage, "payment_intents").await;
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn racing_repetitions_have_one_effect() {
    let stage = Stage::start().await;
    let (one, two) =
        tokio::join!(post(&stage, "k", "payment_intents", &ORDER), post(&stage, "k", "payment_intents", &ORDER),);
    assert_eq!(json(one, 200).await, json(two, 200).await);
    let list = get(&stage, "payment_intents").await;
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn key_reused_for_another_request_is_an_idempotency_error() {
    let stage = Stage::start().await;
    let id = created(&stage).await;
    let other = [("amount", "1"), ("currency", "eur")];
    for (path, form) in [("payment_intents", &other[..]), (&confirm(&id), &[])] {
        let error = json(post(&stage, "create", path, form).await, 400).await;
        assert_eq!(error["error"]["type"], "idempotency_error");
    }
}

#[tokio::test]
async fn replayed_decline_uses_up_no_fault() {
    let stage = Stage::start().await;
    let id = created(&stage).await;
    stage.fault(Target::Payment, Mode::Reject, 2);
    json(post(&stage, "k1", &confirm(&id), &[]).await, 402).await;
    json(post(&stage, "k1", &confirm(&id), &[]).await, 402).await;
    json(post(&stage, "k2", &confirm(&id), &[]).await, 402).await;
    json(post(&stage, "k3", &confirm(&id), &[]).await, 200).await;
    assert_eq!(
        stage.outcomes(Target::Payment)[1..],
        [Outcome::Rejected, Outcome::Replayed, Outcome::Rejected, Outcome::Accepted]
    );
}

#[tokio::test]
async fn invalid_request_may_be_corrected_under_its_key() {
    let stage = Stage::start().await;
    json(post(&stage, "k", "payment_intents", &[]).await, 400).await;
    json(post(&stage, "k", "payment_intents", &ORDER).await, 200).await;
}

#[tokio::test]
async fn after_keys_are_forgotten_only_the_intent_prevents_a_second_charge() {
    let stage = Stage::start().await;
    let id = charged(&stage).await;
    stage.providers.forget_idempotency_keys();

    let error = json(post(&stage, "confirm", &confirm(&id), &[]).await, 400).await;
    assert_eq!(error["error"]["code"], "payment_intent_unexpected_state");
    assert_ne!(created(&stage).await, id, "a second intent under the same key");
}

#[tokio::test]
async fn after_keys_are_forgotten_a_charge_is_still_refunded_once() {
    let stage = Stage::start().await;
    let id = charged(&stage).await;
    let form = [("payment_intent", &*id)];
    json(post(&stage, "refund", "refunds", &form).await, 200).await;
    stage.providers.forget_idempotency_keys();
    let error = json(post(&stage, "refund", "refunds", &form).await, 400).await;
    assert_eq!(error["error"]["code"], "charge_already_refunded");
}
