//! Slack's incoming webhooks: `POST /services/{team}/{hook}/{secret}` with `{text}`. Slack answers in plain text, `ok` or
//! the error's name, and takes no idempotency key.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::Providers;
use crate::channel::{Message, SendResult};
use crate::fault::Target;

#[derive(Deserialize)]
struct Payload {
    text: Option<String>,
}

pub(crate) async fn webhook(State(providers): State<Providers>, uri: Uri, body: Bytes) -> Response {
    // The path is the address: whoever knows it may post. Any path is accepted under `/slack`, for webhooks of all hosts.
    let path = uri.path();
    let mut message =
        Message { to: Some(path.strip_prefix("/slack").unwrap_or(path).to_owned()), ..Message::default() };
    let Ok(payload) = serde_json::from_slice::<Payload>(&body) else {
        providers.refuse(Target::Slack, message);
        return (StatusCode::BAD_REQUEST, "invalid_payload").into_response();
    };
    if payload.text.is_none() {
        providers.refuse(Target::Slack, message);
        return (StatusCode::BAD_REQUEST, "no_text").into_response();
    }
    message.body = payload.text;
    providers.accept(Target::Slack, message, answer).await
}

fn answer(result: SendResult) -> Response {
    match result {
        SendResult::Accepted => "ok".into_response(),
        SendResult::Error => (StatusCode::INTERNAL_SERVER_ERROR, "rollup_error").into_response(),
        // Slack's answer for a removed webhook, its most common refusal.
        SendResult::Rejected => (StatusCode::NOT_FOUND, "no_service").into_response(),
        SendResult::Unavailable => {
            (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "1")], "rate_limited").into_response()
        }
    }
}
