//! Stripe's error answers: a status, and an error object with type, code and, where one is concerned, the intent.

use axum::http::StatusCode;
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) enum Refusal {
    Unauthorized,
    UnknownUrl,
    MissingParameter(&'static str),
    InvalidInteger(&'static str),
    NoSuchIntent { param: &'static str },
    KeyReused,
    Declined { intent: Value },
    UnexpectedState { verb: &'static str, intent: Value },
    NothingToRefund,
    AlreadyRefunded,
    RateLimited,
    Internal,
}

impl Refusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::UnknownUrl | Self::NoSuchIntent { .. } => StatusCode::NOT_FOUND,
            Self::Declined { .. } => StatusCode::PAYMENT_REQUIRED,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::MissingParameter(_)
            | Self::InvalidInteger(_)
            | Self::KeyReused
            | Self::UnexpectedState { .. }
            | Self::NothingToRefund
            | Self::AlreadyRefunded => StatusCode::BAD_REQUEST,
        }
    }

    /// Stripe stores an answer under its key only once the endpoint has begun to run. A request refused before that may be
    /// corrected and sent again under the same key.
    pub(super) fn is_before_execution(&self) -> bool {
        match self {
            Self::Unauthorized
            | Self::UnknownUrl
            | Self::MissingParameter(_)
            | Self::InvalidInteger(_)
            | Self::NoSuchIntent { .. }
            | Self::KeyReused
            | Self::RateLimited
            | Self::Internal => true,
            Self::Declined { .. } | Self::UnexpectedState { .. } | Self::NothingToRefund | Self::AlreadyRefunded => {
                false
            }
        }
    }

    pub(super) fn into_body(self) -> Value {
        let error = match self {
            Self::Unauthorized => invalid_request("You did not provide an API key."),
            Self::UnknownUrl => invalid_request("Unrecognized request URL."),
            Self::MissingParameter(param) => {
                coded("parameter_missing", param, format!("Missing required param: {param}."))
            }
            Self::InvalidInteger(param) => {
                coded("parameter_invalid_integer", param, format!("Invalid integer: {param}."))
            }
            Self::NoSuchIntent { param } => coded("resource_missing", param, "No such payment_intent.".into()),
            Self::KeyReused => json!({
                "type": "idempotency_error",
                "message": "The idempotency key was first used with other parameters.",
            }),
            Self::Declined { intent } => json!({
                "type": "card_error",
                "code": "card_declined",
                "decline_code": "generic_decline",
                "message": "Your card was declined.",
                "payment_intent": intent,
            }),
            Self::UnexpectedState { verb, intent } => json!({
                "type": "invalid_request_error",
                "code": "payment_intent_unexpected_state",
                "message": format!(
                    "You cannot {verb} this PaymentIntent because it has a status of {}.",
                    intent["status"].as_str().unwrap_or_default(),
                ),
                "payment_intent": intent,
            }),
            Self::NothingToRefund => json!({
                "type": "invalid_request_error",
                "param": "payment_intent",
                "message": "This PaymentIntent does not have a successful charge to refund.",
            }),
            Self::AlreadyRefunded => json!({
                "type": "invalid_request_error",
                "code": "charge_already_refunded",
                "message": "The charge has already been refunded.",
            }),
            Self::RateLimited => json!({
                "type": "invalid_request_error",
                "code": "rate_limit",
                "message": "Request rate limit exceeded.",
            }),
            Self::Internal => json!({
                "type": "api_error",
                "message": "An unknown error occurred.",
            }),
        };
        json!({ "error": error })
    }
}

fn invalid_request(message: &str) -> Value {
    json!({ "type": "invalid_request_error", "message": message })
}

fn coded(code: &str, param: &str, message: String) -> Value {
    json!({ "type": "invalid_request_error", "code": code, "param": param, "message": message })
}
