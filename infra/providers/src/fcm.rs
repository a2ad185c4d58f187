//! Firebase Cloud Messaging, HTTP v1: `POST /v1/projects/{project}/messages:send`, and the OAuth 2 endpoint
//! `POST /token`, which exchanges a signed assertion for an access token.
//!
//! Errors are `google.rpc.Status` with FCM's error code in the details. FCM takes no idempotency key. The token endpoint
//! is another Google service: a fault set for PUSH does not affect it, and its requests are not recorded.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Providers;
use crate::channel::{Message, SendResult};
use crate::fault::Target;

/// The private key of a service account that the stand-in accepts, as it accepts any. Google's accounts have RSA keys, and
/// no crate of the functions can generate one. The key is public and must never protect anything.
pub const SERVICE_ACCOUNT_KEY: &str = include_str!("service_account.pem");

/// The grant type of a service account.
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

pub(crate) async fn token(body: Bytes) -> Response {
    let field = |name: &str| form_urlencoded::parse(&body).find(|(key, _)| key == name).map(|(_, value)| value);
    let has_assertion = field("assertion").is_some_and(|assertion| !assertion.is_empty());
    match field("grant_type").as_deref() {
        Some(JWT_BEARER) if has_assertion => Json(json!({
            "access_token": format!("ya29.{}", Uuid::now_v7().simple()),
            "expires_in": 3600,
            "token_type": "Bearer",
        }))
        .into_response(),
        Some(JWT_BEARER) => oauth_error("invalid_grant"),
        _ => oauth_error("unsupported_grant_type"),
    }
}

fn oauth_error(code: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": code }))).into_response()
}

#[derive(Deserialize)]
struct Send {
    message: PushMessage,
}

#[derive(Deserialize)]
struct PushMessage {
    token: String,
    #[serde(default)]
    notification: Notification,
}

/// Absent in a data-only message.
#[derive(Default, Deserialize)]
struct Notification {
    title: Option<String>,
    body: Option<String>,
}

pub(crate) async fn send(
    State(providers): State<Providers>,
    Path(project): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let sent = serde_json::from_slice::<Send>(&body);
    let message = sent.as_ref().map_or_else(
        |_| Message::default(),
        |Send { message }| Message {
            to: Some(message.token.clone()),
            subject: message.notification.title.clone(),
            body: message.notification.body.clone(),
            email: None,
        },
    );
    if !has_bearer_token(&headers) {
        providers.refuse(Target::Push, message);
        return error(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", None);
    }
    if sent.is_err() {
        providers.refuse(Target::Push, message);
        let code = "INVALID_ARGUMENT";
        return error(StatusCode::BAD_REQUEST, code, Some(code));
    }
    let answer = |result| answer(result, &project);
    providers.accept(Target::Push, message, answer).await
}

fn has_bearer_token(headers: &HeaderMap) -> bool {
    headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .is_some_and(|token| !token.is_empty())
}

fn answer(result: SendResult, project: &str) -> Response {
    match result {
        SendResult::Accepted => {
            let name = format!("projects/{project}/messages/{}", Uuid::now_v7());
            Json(json!({ "name": name })).into_response()
        }
        SendResult::Error => error(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", Some("INTERNAL")),
        SendResult::Rejected => error(StatusCode::NOT_FOUND, "NOT_FOUND", Some("UNREGISTERED")),
        SendResult::Unavailable => {
            let code = "UNAVAILABLE";
            let busy = error(StatusCode::SERVICE_UNAVAILABLE, code, Some(code));
            ([(RETRY_AFTER, "1")], busy).into_response()
        }
    }
}

/// `fcm_code` is FCM's own error code. Google's authentication in front of FCM adds none.
fn error(code: StatusCode, status: &str, fcm_code: Option<&str>) -> Response {
    let details: Vec<Value> = fcm_code
        .map(|code| {
            json!({
                "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
                "errorCode": code,
            })
        })
        .into_iter()
        .collect();
    let body = json!({ "error": {
        "code": code.as_u16(),
        "message": "The message was not sent.",
        "status": status,
        "details": details,
    } });
    (code, Json(body)).into_response()
}
