//! AWS End User Messaging (`pinpoint-sms-voice-v2`): `POST /` with the operation in `X-Amz-Target`, protocol
//! awsJson1_0 (the error's name is in the body's `__type`).
//!
//! Only `SendTextMessage` is supported. It takes no idempotency key.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Providers;
use crate::channel::{Message, SendResult};
use crate::fault::Target;

const OPERATION: &str = "PinpointSMSVoiceV2.SendTextMessage";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendTextMessage {
    destination_phone_number: String,
    message_body: String,
}

pub(crate) async fn send_text_message(State(providers): State<Providers>, headers: HeaderMap, body: Bytes) -> Response {
    if headers.get("x-amz-target").is_none_or(|to| to != OPERATION) {
        providers.refuse(Target::Sms, Message::default());
        return aws_json(StatusCode::BAD_REQUEST, json!({ "__type": "UnknownOperationException" }));
    }
    let Ok(text) = serde_json::from_slice::<SendTextMessage>(&body) else {
        providers.refuse(Target::Sms, Message::default());
        return invalid("MISSING_PARAMETER", "MessageBody");
    };
    let message =
        Message { to: Some(text.destination_phone_number), body: Some(text.message_body), ..Message::default() };
    providers.accept(Target::Sms, message, answer).await
}

fn answer(result: SendResult) -> Response {
    match result {
        SendResult::Accepted => aws_json(StatusCode::OK, json!({ "MessageId": Uuid::now_v7() })),
        SendResult::Error => aws_json(
            StatusCode::INTERNAL_SERVER_ERROR,
            json!({
                "__type": "com.amazonaws.pinpointsmsvoicev2#InternalServerException",
                "Message": "An internal error has occurred.",
            }),
        ),
        SendResult::Rejected => invalid("INVALID_PARAMETER", "DestinationPhoneNumber"),
        SendResult::Unavailable => aws_json(
            StatusCode::TOO_MANY_REQUESTS,
            json!({
                "__type": "com.amazonaws.pinpointsmsvoicev2#ThrottlingException",
                "Message": "Rate exceeded.",
            }),
        ),
    }
}

fn invalid(reason: &str, field: &str) -> Response {
    aws_json(
        StatusCode::BAD_REQUEST,
        json!({
            "__type": "com.amazonaws.pinpointsmsvoicev2#ValidationException",
            "Message": "The request does not meet the constraints of the service.",
            "Reason": reason,
            "Fields": [{ "Name": field, "Message": "Invalid value." }],
        }),
    )
}

fn aws_json(status: StatusCode, body: Value) -> Response {
    let content_type = [(CONTENT_TYPE, "application/x-amz-json-1.0")];
    (status, content_type, Json(body)).into_response()
}
