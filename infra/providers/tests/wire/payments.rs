//! Stripe's payment intents and refunds over plain HTTP.

mod faults;
mod idempotency;
mod intents;
mod refunds;

use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use serde_json::Value;

use crate::{PATIENT, Stage, http};

/// A `POST` with a key, as all our writes are.
fn write(stage: &Stage, timeout: Duration, key: &str, path: &str, form: &[(&str, &str)]) -> RequestBuilder {
    http(timeout)
        .post(format!("{}/v1/{path}", stage.url))
        .bearer_auth("sk_test")
        .header("Idempotency-Key", key)
        .form(form)
}

async fn post(stage: &Stage, key: &str, path: &str, form: &[(&str, &str)]) -> Response {
    let request = write(stage, PATIENT, key, path, form);
    request.send().await.unwrap()
}

async fn get(stage: &Stage, path: &str) -> Value {
    let request = http(PATIENT).get(format!("{}/v1/{path}", stage.url)).bearer_auth("sk_test");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.json().await.unwrap()
}

async fn json(answer: Response, status: u16) -> Value {
    assert_eq!(answer.status(), status);
    answer.json().await.unwrap()
}

const ORDER: [(&str, &str); 3] = [("amount", "1250"), ("currency", "EUR"), ("metadata[order_id]", "o-1")];

async fn created(stage: &Stage) -> String {
    let intent = json(post(stage, "create", "payment_intents", &ORDER).await, 200).await;
    intent["id"].as_str().unwrap().to_owned()
}

async fn charged(stage: &Stage) -> String {
    let id = created(stage).await;
    json(post(stage, "confirm", &confirm(&id), &[]).await, 200).await;
    id
}

fn confirm(id: &str) -> String {
    format!("payment_intents/{id}/confirm")
}

fn cancel(id: &str) -> String {
    format!("payment_intents/{id}/cancel")
}
