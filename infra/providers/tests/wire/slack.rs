//! Slack's incoming webhooks.

use std::time::Duration;

use providers::{Mode, Outcome, Target};
use reqwest::Response;
use serde_json::{Value, json};

use crate::{PATIENT, Stage, assert_faults, http, is_broken_connection, seen_by_http};

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
async fn post_is_recorded_with_its_webhook() {
    let stage = Stage::start().await;
    let answer = post(&stage, PATIENT, "At eight").await.unwrap();
    assert_answers(answer, 200, "ok").await;
    let sent = stage.providers.sent(Some(Target::Slack)).remove(0);
    assert_eq!(sent.outcome, Outcome::Accepted);
    assert_eq!(sent.to.as_deref(), Some("/services/T1/B2/secret"));
    assert_eq!(sent.body.as_deref(), Some("At eight"));
}

#[tokio::test]
async fn post_without_text_is_refused() {
    let stage = Stage::start().await;
    let answer = post_payload(&stage, PATIENT, &json!({})).await.unwrap();
    assert_answers(answer, 400, "no_text").await;
    let answer = post_payload(&stage, PATIENT, &json!([1])).await.unwrap();
    assert_answers(answer, 400, "invalid_payload").await;
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::Rejected; 2]);
}

#[tokio::test]
async fn faults_look_like_slack() {
    let expected = [
        (Mode::Error, "500 rollup_error"),
        (Mode::Reject, "404 no_service"),
        (Mode::Unavailable, "429 rate_limited, retry after 1 s"),
        (Mode::Timeout, "timeout"),
        (Mode::DropAnswer, "broken connection"),
    ];
    let send = async |stage: &Stage, timeout| {
        seen_by_http(post(stage, timeout, "At eight").await, |body| body.to_owned()).await
    };
    assert_faults(Target::Slack, send, expected).await;
}

#[tokio::test]
async fn dropped_answer_on_a_kept_connection_is_not_hidden_by_a_retry() {
    let stage = Stage::start().await;
    let client = http(PATIENT);
    let hello = || client.post(format!("{}/services/T1/B2/secret", stage.url)).json(&json!({ "text": "hello" })).send();
    assert_answers(hello().await.unwrap(), 200, "ok").await;
    stage.fault(Target::Slack, Mode::DropAnswer, 1);
    let error = hello().await.unwrap_err();
    assert!(is_broken_connection(&error), "{error:?}");
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::Accepted, Outcome::AnswerDropped]);
}
