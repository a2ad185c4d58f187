//! SES v2: `POST /v2/email/outbound-emails`, protocol restJson1 (the error's name is in `x-amzn-ErrorType`).
//!
//! SES takes no idempotency key, so a mail sent twice is recorded twice.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::Providers;
use crate::channel::{Message, Verdict};
use crate::fault::Target;
use crate::sent::EmailParts;

pub(crate) async fn send_email(State(providers): State<Providers>, body: Bytes) -> Response {
    let Some(message) = serde_json::from_slice::<SendEmail>(&body).ok().and_then(SendEmail::into_message) else {
        providers.refuse(Target::Email, Message::default());
        return error(StatusCode::BAD_REQUEST, "BadRequestException", "Missing sender, destination or content.");
    };
    providers.take(Target::Email, message, answer).await
}

fn answer(verdict: Verdict) -> Response {
    match verdict {
        Verdict::Accepted => Json(json!({ "MessageId": Uuid::now_v7() })).into_response(),
        Verdict::Error => error(StatusCode::INTERNAL_SERVER_ERROR, "InternalFailure", "Internal failure."),
        Verdict::Rejected => error(StatusCode::BAD_REQUEST, "MessageRejected", "Email address is not verified."),
        Verdict::Unavailable => {
            error(StatusCode::TOO_MANY_REQUESTS, "TooManyRequestsException", "Maximum sending rate exceeded.")
        }
    }
}

fn error(status: StatusCode, name: &'static str, message: &str) -> Response {
    (status, [("x-amzn-errortype", name)], Json(json!({ "message": message }))).into_response()
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendEmail {
    from_email_address: Option<String>,
    #[serde(default)]
    destination: Destination,
    content: Content,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Destination {
    to_addresses: Vec<String>,
}

/// Exactly one of the two, as SES wants it; stored templates are not something we use.
#[derive(Deserialize)]
enum Content {
    Simple(Simple),
    Raw(Raw),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Simple {
    subject: Part,
    body: Parts,
    #[serde(default)]
    headers: Vec<Header>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Parts {
    text: Option<Part>,
    html: Option<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Part {
    data: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Header {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Raw {
    data: String,
}

impl SendEmail {
    /// `None` for what SES would not take.
    fn into_message(self) -> Option<Message> {
        let to = match self.destination.to_addresses.as_slice() {
            [] => None,
            addresses => Some(addresses.join(", ")),
        };
        match self.content {
            Content::Simple(simple) => {
                self.from_email_address?;
                Some(simple.into_message(to?))
            }
            Content::Raw(raw) => raw.into_message(to),
        }
    }
}

impl Simple {
    fn into_message(self, to: String) -> Message {
        let headers = self.headers.into_iter().map(|header| (header.name, header.value));
        Message {
            to: Some(to),
            subject: Some(self.subject.data),
            body: self.body.text.map(|part| part.data),
            email: Some(EmailParts { html: self.body.html.map(|part| part.data), headers: headers.collect() }),
        }
    }
}

impl Raw {
    /// A raw mail may name its sender and its addressee in its own headers only.
    fn into_message(self, to: Option<String>) -> Option<Message> {
        let mime = String::from_utf8_lossy(&STANDARD.decode(self.data).ok()?).into_owned();
        let headers = mime_headers(&mime);
        Some(Message {
            to: Some(to.or_else(|| headers.get("To").cloned())?),
            subject: headers.get("Subject").cloned(),
            body: Some(mime),
            email: Some(EmailParts { html: None, headers }),
        })
    }
}

/// The headers of a MIME message with folded lines joined, their encoded words left as they are.
fn mime_headers(mime: &str) -> BTreeMap<String, String> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for line in mime.lines().take_while(|line| !line.is_empty()) {
        match headers.last_mut() {
            Some((_, value)) if line.starts_with([' ', '\t']) => value.push_str(line),
            _ => headers.extend(line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()))),
        }
    }
    headers.into_iter().collect()
}
