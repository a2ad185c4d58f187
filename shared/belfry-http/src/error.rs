//! Errors: one code, one status, one shape. An unexpected error is logged; its response says nothing about it.

use std::collections::BTreeMap;
use std::fmt;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_aws::{Error, StoredResponse};
use serde::Serialize;
use serde_json::Value;

use crate::answer::json_response;

/// A code that programs recognise an error by, and its status.
///
/// Applications add their own:
///
/// ```
/// use belfry_http::{ErrorCode, HttpError};
///
/// const ALREADY_LENT: ErrorCode = ErrorCode::new(409, "ALREADY_LENT");
/// assert_eq!(HttpError::new(ALREADY_LENT, "lent to ada").code(), ALREADY_LENT);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode {
    status: u16,
    name: &'static str,
}

impl ErrorCode {
    /// The request is not valid.
    pub const BAD_REQUEST: Self = Self::new(400, "BAD_REQUEST");
    /// Nobody is known to call.
    pub const UNAUTHENTICATED: Self = Self::new(401, "UNAUTHENTICATED");
    /// The caller may not do this.
    pub const FORBIDDEN: Self = Self::new(403, "FORBIDDEN");
    /// There is no such thing, or the caller may not see it.
    pub const NOT_FOUND: Self = Self::new(404, "NOT_FOUND");
    /// The idempotency key was used with a different request.
    pub const IDEMPOTENCY_KEY_CONFLICT: Self = Self::new(409, "IDEMPOTENCY_KEY_CONFLICT");
    /// The body is larger than [`LARGEST`](crate::LARGEST).
    pub const PAYLOAD_TOO_LARGE: Self = Self::new(413, "PAYLOAD_TOO_LARGE");
    /// The body is not JSON.
    pub const UNSUPPORTED_MEDIA_TYPE: Self = Self::new(415, "UNSUPPORTED_MEDIA_TYPE");
    /// Concurrent changes, for as long as the retry policy allows. The client should retry.
    pub const CONTENDED: Self = Self::new(503, "CONTENDED");
    /// A dependency is unavailable. The client should retry.
    pub const UNAVAILABLE: Self = Self::new(503, "UNAVAILABLE");
    /// Something unexpected.
    pub const INTERNAL: Self = Self::new(500, "INTERNAL");

    /// A code of this name and status.
    pub const fn new(status: u16, name: &'static str) -> Self {
        Self { status, name }
    }

    /// The status.
    pub fn status(self) -> u16 {
        self.status
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        self.name
    }
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detail {
    /// The field, by its path in the body, or the name of the parameter or header.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

/// An error response: `{"code", "message", "details"}`, the details only if there are any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError {
    code: ErrorCode,
    message: String,
    details: Vec<Detail>,
    more: BTreeMap<&'static str, Value>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    details: &'a [Detail],
    #[serde(flatten)]
    more: &'a BTreeMap<&'static str, Value>,
}

impl HttpError {
    /// An error without details.
    pub fn new(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: Vec::new(), more: BTreeMap::new() }
    }

    /// 400 for one field.
    pub fn field(field: impl Into<String>, problem: impl ToString) -> Self {
        Self::fields([Detail { field: field.into(), problem: problem.to_string() }])
    }

    /// 400 for several fields.
    pub fn fields(details: impl IntoIterator<Item = Detail>) -> Self {
        Self::with_details(ErrorCode::BAD_REQUEST, details)
    }

    /// An error about several fields. The message names the first.
    pub fn with_details(code: impl Into<ErrorCode>, details: impl IntoIterator<Item = Detail>) -> Self {
        let details: Vec<Detail> = details.into_iter().collect();
        let message = details.first().map_or_else(
            || "the request is not valid".to_owned(),
            |detail| format!("{}: {}", detail.field, detail.problem),
        );
        Self { details, ..Self::new(code, message) }
    }

    /// 500 for an error that nobody expected. It is logged; the response does not repeat it.
    pub fn unexpected(error: &dyn std::error::Error) -> Self {
        tracing::error!(reason = %error, "unexpected error");
        Self::new(ErrorCode::INTERNAL, "unexpected error; see the log for this request id")
    }

    /// Adds a field to the body.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.more.insert(name, value.into());
        self
    }

    /// The code.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The message, for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The response as a command stores it.
    pub fn stored(&self) -> StoredResponse {
        StoredResponse::json(self.code.status, &self.body())
    }

    fn body(&self) -> ErrorBody<'_> {
        let Self { code, message, details, more } = self;
        ErrorBody { code: code.name, message, details, more }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name, self.message)
    }
}

impl std::error::Error for HttpError {}

impl From<Error> for HttpError {
    fn from(error: Error) -> Self {
        match &error {
            Error::Contended { .. } => {
                tracing::warn!(reason = %error, "contended");
                Self::new(ErrorCode::CONTENDED, "concurrent changes to this resource; retry")
            }
            Error::Unavailable { .. } => {
                tracing::error!(reason = %error, "DynamoDB or SQS unavailable");
                Self::new(ErrorCode::UNAVAILABLE, "temporarily unavailable; retry")
            }
            _ => Self::unexpected(&error),
        }
    }
}

impl From<belfry_aws::Corrupt> for HttpError {
    fn from(error: belfry_aws::Corrupt) -> Self {
        Self::unexpected(&error)
    }
}

/// With `Retry-After: 1` if the client should retry.
impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let mut response = json_response(self.stored());
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_details_and_more_fields_only_if_there_are_any() {
        let error = HttpError::new(ErrorCode::NOT_FOUND, "no such book");
        assert_eq!(error.stored().body, r#"{"code":"NOT_FOUND","message":"no such book"}"#);
        let error = HttpError::field("title", "is required").with("hint", "see the catalogue");
        assert_eq!(
            error.stored().body,
            r#"{"code":"BAD_REQUEST","message":"title: is required","details":[{"field":"title","problem":"is required"}],"hint":"see the catalogue"}"#
        );
    }

    #[test]
    fn a_client_is_told_when_to_retry() {
        let retried = HttpError::from(Error::Contended { attempts: 3 }).into_response();
        assert_eq!(retried.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(retried.headers()["retry-after"], "1");
        let broken = HttpError::from(Error::Refused { reason: "AccessDenied: secret".to_owned() });
        assert!(!broken.stored().body.contains("secret"));
        assert!(!broken.into_response().headers().contains_key("retry-after"));
    }
}
