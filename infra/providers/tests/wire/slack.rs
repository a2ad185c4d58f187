//! Slack's incoming webhooks.

use std::time::Duration;

use providers::{Mode, Outcome, Target};
use reqwest::Response;
use serde_json::{Value, json};

use crate::{IMPATIENT, PATIENT, Stage, http, is_broken_connection};

pub(crate) async fn post(stage: &Stage, timeout: Duration, text: &str) -> reqwest::Result<Response> {
    post_payload(stage, timeout, &json!({ "text": text })).await
}

async fn post_payload(stage: &Stage, timeout: Duration, payload: &Value) -> reqwest::Result<Response> {
    http(timeout).post(format!("{}/services/T1/B2/secret", stage.url)).json(payload).send().await
}

async fn assert_answers(answer: Response, status: u16, text: &str) {
    assert_eq!(answer.status(), status);
    assert_eq!(answer.text().await.unwrap(), text);
}

#[tokio::test]
async fn a_post_is_kept_with_its_webhook() {
    let stage = Stage::start().await;
    let answer = post(&stage, PATIENT, "At eight").await.unwrap();
    assert_answers(answer, 200, "ok").await;
    let sent = stage.providers.sent(Some(Target::Slack)).remove(0);
    assert_eq!(sent.outcome, Outcome::Accepted);
    assert_eq!(sent.to.as_deref(), Some("/services/T1/B2/secret"));
    assert_eq!(sent.body.as_deref(), Some("At eight"));
}

#[tokio::test]
async fn a_post_that_says_nothing_is_refused() {
    let stage = Stage::start().await;
    let answer = post_payload(&stage, PATIENT, &json!({})).await.unwrap();
    assert_answers(answer, 400, "no_text").await;
    let answer = post_payload(&stage, PATIENT, &json!([1])).await.unwrap();
    assert_answers(answer, 400, "invalid_payload").await;
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::Rejected; 2]);
}

#[tokio::test]
async fn an_inner_error_is_a_500_for_as_many_posts_as_told() {
    let stage = Stage::start().await;
    stage.fault(Target::Slack, Mode::Error, 1);
    let answer = post(&stage, PATIENT, "At eight").await.unwrap();
    assert_answers(answer, 500, "rollup_error").await;
    let answer = post(&stage, PATIENT, "At eight").await.unwrap();
    assert_answers(answer, 200, "ok").await;
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::Error, Outcome::Accepted]);
}

#[tokio::test]
async fn a_removed_webhook_is_no_service() {
    let stage = Stage::start().await;
    stage.fault(Target::Slack, Mode::Reject, None);
    let answer = post(&stage, PATIENT, "At eight").await.unwrap();
    assert_answers(answer, 404, "no_service").await;
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::Rejected]);
}

#[tokio::test]
async fn a_throttled_post_is_told_when_to_come_back() {
    let stage = Stage::start().await;
    stage.fault(Target::Slack, Mode::Unavailable, None);
    let answer = post(&stage, PATIENT, "At eight").await.unwrap();
    assert_eq!(answer.headers()["retry-after"], "1");
    assert_answers(answer, 429, "rate_limited").await;
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::Unavailable]);
}

#[tokio::test]
async fn a_held_answer_is_the_clients_timeout() {
    let stage = Stage::start().await;
    stage.fault(Target::Slack, Mode::Timeout, None);
    let error = post(&stage, IMPATIENT, "At eight").await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::TimedOut]);
}

#[tokio::test]
async fn a_dropped_answer_breaks_the_connection_after_the_post_was_taken() {
    let stage = Stage::start().await;
    stage.fault(Target::Slack, Mode::DropAnswer, None);
    let error = post(&stage, PATIENT, "At eight").await.unwrap_err();
    assert!(is_broken_connection(&error), "{error:?}");
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::AnswerDropped]);
}

#[tokio::test]
async fn a_dropped_answer_on_a_kept_connection_is_not_hidden_by_a_second_try() {
    let stage = Stage::start().await;
    let client = http(PATIENT);
    let hello = || client.post(format!("{}/services/T1/B2/secret", stage.url)).json(&json!({ "text": "hello" })).send();
    assert_answers(hello().await.unwrap(), 200, "ok").await;
    stage.fault(Target::Slack, Mode::DropAnswer, 1);
    let error = hello().await.unwrap_err();
    assert!(is_broken_connection(&error), "{error:?}");
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::Accepted, Outcome::AnswerDropped]);
}
