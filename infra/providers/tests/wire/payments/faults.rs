//! Faults of the payment provider.

use providers::{Mode, Outcome, Target};

use super::{ORDER, charged, confirm, created, get, json, post, write};
use crate::{IMPATIENT, PATIENT, Stage, is_broken_connection};

#[tokio::test]
async fn internal_error_has_no_effect_and_is_not_stored_under_the_key() {
    let stage = Stage::start().await;
    stage.fault(Target::Payment, Mode::Error, 1);
    let error = json(post(&stage, "k", "payment_intents", &ORDER).await, 500).await;
    assert_eq!(error["error"]["type"], "api_error");
    json(post(&stage, "k", "payment_intents", &ORDER).await, 200).await;
    assert_eq!(stage.outcomes(Target::Payment), [Outcome::Error, Outcome::Accepted]);
}

#[tokio::test]
async fn throttled_call_has_retry_after() {
    let stage = Stage::start().await;
    stage.fault(Target::Payment, Mode::Unavailable, 1);
    let answer = post(&stage, "k", "payment_intents", &ORDER).await;
    assert_eq!(answer.headers()["retry-after"], "1");
    assert_eq!(json(answer, 429).await["error"]["code"], "rate_limit");
    json(post(&stage, "k", "payment_intents", &ORDER).await, 200).await;
    assert_eq!(stage.outcomes(Target::Payment), [Outcome::Unavailable, Outcome::Accepted]);
}

#[tokio::test]
async fn declining_provider_still_refunds_and_reads() {
    let stage = Stage::start().await;
    let id = charged(&stage).await;
    stage.fault(Target::Payment, Mode::Reject, None);
    get(&stage, &format!("payment_intents/{id}")).await;
    json(post(&stage, "k", "refunds", &[("payment_intent", &id)]).await, 200).await;
}

#[tokio::test]
async fn held_answer_has_charged_nothing() {
    let stage = Stage::start().await;
    let id = created(&stage).await;
    stage.fault(Target::Payment, Mode::Timeout, 1);
    let request = write(&stage, IMPATIENT, "k", &confirm(&id), &[]);
    let error = request.send().await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    let intent = get(&stage, &format!("payment_intents/{id}")).await;
    assert_eq!(intent["status"], "requires_confirmation");
    assert_eq!(stage.outcomes(Target::Payment)[1], Outcome::TimedOut);
}

#[tokio::test]
async fn dropped_answer_has_charged_and_is_replayed_under_its_key() {
    let stage = Stage::start().await;
    let id = created(&stage).await;
    stage.fault(Target::Payment, Mode::DropAnswer, 2);
    for _ in 0..2 {
        let request = write(&stage, PATIENT, "k", &confirm(&id), &[]);
        let error = request.send().await.unwrap_err();
        assert!(is_broken_connection(&error), "{error:?}");
    }
    let intent = get(&stage, &format!("payment_intents/{id}")).await;
    assert_eq!(intent["status"], "succeeded");
    let replayed = post(&stage, "k", &confirm(&id), &[]).await;
    assert_eq!(replayed.headers()["idempotent-replayed"], "true");
    assert_eq!(json(replayed, 200).await, intent);
    assert_eq!(
        stage.outcomes(Target::Payment)[1..],
        [Outcome::AnswerDropped, Outcome::Replayed, Outcome::Accepted, Outcome::Replayed]
    );
}
