//! Firebase Cloud Messaging over plain HTTP, as its v1 API has it.

use std::time::Duration;

use providers::{Mode, Outcome, Target};
use reqwest::Response;
use serde_json::{Value, json};

use crate::{PATIENT, Stage, assert_faults, http, seen_by_http};

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

#[tokio::test]
async fn message_is_recorded_with_its_device_and_named_after_its_project() {
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
async fn message_without_access_token_is_unauthenticated() {
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
async fn token_request_without_assertion_is_refused() {
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
async fn faults_look_like_fcm() {
    let expected = [
        (Mode::Error, "500 INTERNAL INTERNAL"),
        (Mode::Reject, "404 NOT_FOUND UNREGISTERED"),
        (Mode::Unavailable, "503 UNAVAILABLE UNAVAILABLE, retry after 1 s"),
        (Mode::Timeout, "timeout"),
        (Mode::DropAnswer, "broken connection"),
    ];
    let code = |body: &str| {
        let error = &serde_json::from_str::<Value>(body).unwrap()["error"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        format!("{} {}", text(&error["status"]), text(&error["details"][0]["errorCode"]))
    };
    let send = async |stage: &Stage, timeout| seen_by_http(push(stage, timeout).await, code).await;
    assert_faults(Target::Push, send, expected).await;
}
