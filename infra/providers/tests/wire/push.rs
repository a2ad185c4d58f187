//! Firebase Cloud Messaging over plain HTTP, as its v1 API has it.

use std::time::Duration;

use providers::{Mode, Outcome, Target};
use reqwest::Response;
use serde_json::{Value, json};

use crate::{IMPATIENT, PATIENT, Stage, http, is_broken_connection};

async fn access_token(stage: &Stage) -> String {
    let answer = http(PATIENT)
        .post(format!("{}/token", stage.url))
        .form(&[
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", "header.claims.signature"),
        ])
        .send()
        .await
        .unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["token_type"], "Bearer");
    assert_eq!(answer["expires_in"], 3600);
    answer["access_token"].as_str().unwrap().to_owned()
}

async fn push(stage: &Stage, timeout: Duration) -> reqwest::Result<Response> {
    let token = access_token(stage).await;
    let message = json!({ "message": {
        "token": "device-1",
        "notification": { "title": "Your table", "body": "At eight" },
    } });
    http(timeout)
        .post(format!("{}/v1/projects/belfry/messages:send", stage.url))
        .bearer_auth(token)
        .json(&message)
        .send()
        .await
}

async fn assert_fails(stage: &Stage, http_status: u16, status: &str, error_code: &str) {
    let answer = push(stage, PATIENT).await.unwrap();
    assert_eq!(answer.status(), http_status);
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["error"]["code"], http_status);
    assert_eq!(answer["error"]["status"], status);
    assert_eq!(answer["error"]["details"][0]["errorCode"], error_code);
}

#[tokio::test]
async fn a_message_is_kept_with_its_device_and_named_after_its_project() {
    let stage = Stage::start().await;
    let answer: Value = push(&stage, PATIENT).await.unwrap().json().await.unwrap();
    let name = answer["name"].as_str().unwrap();
    assert!(name.starts_with("projects/belfry/messages/"), "{name}");

    let sent = stage.providers.sent(None);
    assert_eq!(sent.len(), 1, "the token's request is not a message");
    assert_eq!(sent[0].outcome, Outcome::Accepted);
    assert_eq!(sent[0].to.as_deref(), Some("device-1"));
    assert_eq!(sent[0].subject.as_deref(), Some("Your table"));
    assert_eq!(sent[0].body.as_deref(), Some("At eight"));
}

#[tokio::test]
async fn a_message_without_an_access_token_is_unauthenticated() {
    let stage = Stage::start().await;
    let answer = http(PATIENT)
        .post(format!("{}/v1/projects/belfry/messages:send", stage.url))
        .json(&json!({ "message": { "token": "device-1" } }))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 401);
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["error"]["status"], "UNAUTHENTICATED");
    assert_eq!(stage.outcomes(Target::Push), [Outcome::Rejected]);
}

#[tokio::test]
async fn no_access_token_without_an_assertion() {
    let stage = Stage::start().await;
    let answer = http(PATIENT)
        .post(format!("{}/token", stage.url))
        .form(&[("grant_type", "client_credentials")])
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 400);
}

#[tokio::test]
async fn an_inner_error_is_internal_for_as_many_messages_as_told() {
    let stage = Stage::start().await;
    stage.fault(Target::Push, Mode::Error, 1);
    assert_fails(&stage, 500, "INTERNAL", "INTERNAL").await;
    assert_eq!(push(&stage, PATIENT).await.unwrap().status(), 200);
    assert_eq!(stage.outcomes(Target::Push), [Outcome::Error, Outcome::Accepted]);
}

#[tokio::test]
async fn a_dead_device_is_unregistered() {
    let stage = Stage::start().await;
    stage.fault(Target::Push, Mode::Reject, None);
    assert_fails(&stage, 404, "NOT_FOUND", "UNREGISTERED").await;
    assert_eq!(stage.outcomes(Target::Push), [Outcome::Rejected]);
}

#[tokio::test]
async fn an_unavailable_provider_says_when_to_come_back() {
    let stage = Stage::start().await;
    stage.fault(Target::Push, Mode::Unavailable, None);
    assert_fails(&stage, 503, "UNAVAILABLE", "UNAVAILABLE").await;
    let again = push(&stage, PATIENT).await.unwrap();
    assert_eq!(again.headers()["retry-after"], "1");
    assert_eq!(stage.outcomes(Target::Push), [Outcome::Unavailable; 2]);
}

#[tokio::test]
async fn a_held_answer_is_the_clients_timeout() {
    let stage = Stage::start().await;
    stage.fault(Target::Push, Mode::Timeout, None);
    let error = push(&stage, IMPATIENT).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(stage.outcomes(Target::Push), [Outcome::TimedOut]);
}

#[tokio::test]
async fn a_dropped_answer_breaks_the_connection_after_the_message_was_taken() {
    let stage = Stage::start().await;
    stage.fault(Target::Push, Mode::DropAnswer, None);
    let error = push(&stage, PATIENT).await.unwrap_err();
    assert!(is_broken_connection(&error), "{error:?}");
    assert_eq!(stage.outcomes(Target::Push), [Outcome::AnswerDropped]);
}
