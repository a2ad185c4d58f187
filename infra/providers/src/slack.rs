//! Slack's incoming webhooks: `POST /services/{team}/{hook}/{secret}` with `{text, blocks?}`. Slack answers in plain
//! text, `ok` or the error's name, and takes no idempotency key.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;

use crate::Providers;
use crate::channel::{Message, Verdict};
use crate::fault::Target;

#[derive(Deserialize)]
struct Payload {
    text: Option<String>,
    #[serde(default)]
    blocks: Vec<Value>,
}

pub(crate) async fn webhook(State(providers): State<Providers>, uri: Uri, body: Bytes) -> Response {
    // The path is the address: whoever knows it may post. Under `/slack` any will do, for webhooks of whatever host.
    let path = uri.path();
    let mut message =
        Message { to: Some(path.strip_prefix("/slack").unwrap_or(path).to_owned()), ..Message::default() };
    let Ok(payload) = serde_json::from_slice::<Payload>(&body) else {
        providers.refuse(Target::Slack, message);
        return (StatusCode::BAD_REQUEST, "invalid_payload").into_response();
    };
    if payload.text.is_none() && payload.blocks.is_empty() {
        providers.refuse(Target::Slack, message);
        return (StatusCode::BAD_REQUEST, "no_text").into_response();
    }
    message.body = payload.text;
    providers.take(Target::Slack, message, answer).await
}

fn answer(verdict: Verdict) -> Response {
    match verdict {
        Verdict::Accepted => "ok".into_response(),
        Verdict::Error => (StatusCode::INTERNAL_SERVER_ERROR, "rollup_error").into_response(),
        // What Slack says of a webhook that was removed, the commonest of its refusals.
        Verdict::Rejected => (StatusCode::NOT_FOUND, "no_service").into_response(),
        Verdict::Unavailable => (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "1")], "rate_limited").into_response(),
    }
}
