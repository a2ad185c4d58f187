//! Repetitions: one charge and one refund, whatever the key.

use payments::{CancelledIntent, Confirmed};
use providers::Mode;

use crate::{SECRET, Stage, total};

#[tokio::test]
async fn intent_is_created_for_an_order_and_charges_nothing() {
    let stage = Stage::start().await;
    let intent = stage.created().await;
    assert_eq!(stage.provider.create("o-1", &total(), "create").await.unwrap(), intent);
    let sent = stage.sent().remove(0);
    assert_eq!(sent.idempotency_key.as_deref(), Some("create"));
    let form = sent.payment.unwrap().form;
    let expected = [("amount", "1250"), ("currency", "eur"), ("metadata[order_id]", "o-1")];
    assert_eq!(form, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    assert_eq!((stage.done("/payment_intents"), stage.done("/confirm")), (1, 0));
}

#[tokio::test]
async fn second_confirmation_finds_the_charge() {
    let stage = Stage::start().await;
    let intent = stage.charged().await;
    for key in ["confirm", "another"] {
        assert_eq!(stage.provider.confirm(&intent, key).await, Ok(Confirmed::Succeeded));
    }
    stage.providers.forget_idempotency_keys();
    assert_eq!(stage.provider.confirm(&intent, "confirm").await, Ok(Confirmed::Succeeded));
    assert_eq!(stage.done("/confirm"), 1);
}

#[tokio::test]
async fn racing_confirmations_charge_once() {
    let stage = Stage::start().await;
    let intent = stage.created().await;
    let (one, two) = tokio::join!(stage.provider.confirm(&intent, "one"), stage.provider.confirm(&intent, "two"));
    assert_eq!((one, two), (Ok(Confirmed::Succeeded), Ok(Confirmed::Succeeded)));
    assert_eq!(stage.done("/confirm"), 1);
}

#[tokio::test]
async fn cancelled_intent_is_not_charged() {
    let stage = Stage::start().await;
    let intent = stage.created().await;
    assert_eq!(stage.provider.cancel(&intent, "cancel").await, Ok(CancelledIntent::Cancelled));
    assert_eq!(stage.provider.confirm(&intent, "confirm").await, Ok(Confirmed::Cancelled));
    stage.providers.forget_idempotency_keys();
    assert_eq!(stage.provider.cancel(&intent, "cancel").await, Ok(CancelledIntent::Cancelled));
    assert_eq!(stage.provider.confirm(&intent, "confirm").await, Ok(Confirmed::Cancelled));
    let refused = stage.provider.refund(&intent, "refund").await.unwrap_err();
    assert_eq!(refused.to_string(), "refused: invalid_request_error (HTTP 400)");
    assert_eq!((stage.done("/confirm"), stage.done("/cancel"), stage.done("/refunds")), (0, 1, 0));
}

#[tokio::test]
async fn charged_intent_is_not_cancelled() {
    let stage = Stage::start().await;
    let intent = stage.charged().await;
    for _ in 0..2 {
        assert_eq!(stage.provider.cancel(&intent, "cancel").await, Ok(CancelledIntent::Charged));
        stage.providers.forget_idempotency_keys();
    }
    assert_eq!((stage.done("/confirm"), stage.done("/cancel")), (1, 0));
}

#[tokio::test]
async fn charge_is_refunded_once_after_the_key_is_forgotten() {
    let stage = Stage::start().await;
    let intent = stage.charged().await;
    for key in ["refund", "refund", "another"] {
        assert_eq!(stage.provider.refund(&intent, key).await, Ok(()));
    }
    stage.providers.forget_idempotency_keys();
    assert_eq!(stage.provider.refund(&intent, "refund").await, Ok(()));
    assert_eq!(stage.done("/refunds"), 1);
}

#[tokio::test]
async fn dropped_answers_make_one_charge_and_one_refund() {
    let stage = Stage::start().await;
    stage.fault(Mode::DropAnswer, 1);
    let intent = stage.created().await;
    stage.fault(Mode::DropAnswer, 1);
    assert_eq!(stage.provider.confirm(&intent, "confirm").await, Ok(Confirmed::Succeeded));
    stage.fault(Mode::DropAnswer, 1);
    assert_eq!(stage.provider.refund(&intent, "refund").await, Ok(()));
    assert_eq!(["/payment_intents", "/confirm", "/refunds"].map(|end| stage.done(end)), [1, 1, 1]);
}

#[tokio::test]
async fn dropped_answer_and_forgotten_key_make_one_charge_and_one_refund() {
    let stage = Stage::start().await;
    let intent = stage.created().await;
    stage.fault(Mode::DropAnswer, None);
    stage.provider.confirm(&intent, "confirm").await.unwrap_err();
    stage.providers.forget_idempotency_keys();
    stage.fault(Mode::Ok, None);
    assert_eq!(stage.provider.confirm(&intent, "confirm").await, Ok(Confirmed::Succeeded));
    stage.fault(Mode::DropAnswer, None);
    stage.provider.refund(&intent, "refund").await.unwrap_err();
    stage.providers.forget_idempotency_keys();
    stage.fault(Mode::Ok, None);
    assert_eq!(stage.provider.refund(&intent, "refund").await, Ok(()));
    assert_eq!((stage.done("/confirm"), stage.done("/refunds")), (1, 1));
}

#[tokio::test]
async fn key_of_another_request_is_refused() {
    let stage = Stage::start().await;
    let intent = stage.created().await;
    let refused = stage.provider.confirm(&intent, "create").await.unwrap_err();
    assert_eq!(refused.to_string(), "refused: idempotency_error (HTTP 400)");
    assert!(!format!("{refused:?}").contains(SECRET));
    let unsendable = stage.provider.confirm(&intent, "a\nkey").await.unwrap_err();
    assert_eq!(unsendable.to_string(), "refused: cannot build the request");
}
