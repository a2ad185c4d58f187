//! SES v2: `POST /v2/email/outbound-emails`, protocol restJson1 (the error's name is in `x-amzn-ErrorType`).
//!
//! Only simple content is accepted, which is all that Belfry sends. SES takes no idempotency key, so a mail sent twice is
//! recorded twice.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::Providers;
use crate::channel::{Message, SendResult};
use crate::fault::Target;
use crate::sent::EmailParts;

pub(crate) async fn send_email(State(providers): State<Providers>, body: Bytes) -> Response {
    let Some(message) = serde_json::from_slice::<SendEmail>(&body).ok().and_then(SendEmail::into_message) else {
        providers.refuse(Target::Email, Message::default());
        return error(StatusCode::BAD_REQUEST, "BadRequestException", "Missing sender, destination or content.");
    };
    providers.accept(Target::Email, message, answer).await
}

fn answer(result: SendResult) -> Response {
    match result {
        SendResult::Accepted => Json(json!({ "MessageId": Uuid::now_v7() })).into_response(),
        SendResult::Error => error(StatusCode::INTERNAL_SERVER_ERROR, "InternalFailure", "Internal failure."),
        SendResult::Rejected => error(StatusCode::BAD_REQUEST, "MessageRejected", "Email address is not verified."),
        SendResult::Unavailable => {
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
    from_email_address: String,
    destination: Destination,
    content: Content,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Destination {
    to_addresses: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Content {
    simple: Simple,
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

impl SendEmail {
    /// `None` if SES would refuse the request.
    fn into_message(self) -> Option<Message> {
        let addresses = self.destination.to_addresses;
        if addresses.is_empty() || self.from_email_address.is_empty() {
            return None;
        }
        let Simple { subject, body, headers } = self.content.simple;
        let headers = headers.into_iter().map(|header| (header.name, header.value)).collect();
        Some(Message {
            to: Some(addresses.join(", ")),
            subject: Some(subject.data),
            body: body.text.map(|part| part.data),
            email: Some(EmailParts { html: body.html.map(|part| part.data), headers }),
        })
    }
}
