//! Errors: one code, one status, one shape. An unexpected error says nothing of the inside; the log has it.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::notification::HandledBy;
use ledger::command::Answer;
use ledger::{Corrupt, LedgerError};
use runtime::secrets::Unavailable;
use serde::Serialize;
use utoipa::ToSchema;

/// Every way to say no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    BadRequest,
    Unauthenticated,
    Forbidden,
    NotFound,
    IdempotencyKeyConflict,
    EntitlementStateConflict,
    ReservationStateConflict,
    OrderStateConflict,
    AlreadyHandled,
    EventConflict,
    TooOld,
    PayloadTooLarge,
    UnsupportedMediaType,
    Contended,
    Unavailable,
    Internal,
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::IdempotencyKeyConflict
            | Self::EntitlementStateConflict
            | Self::ReservationStateConflict
            | Self::OrderStateConflict
            | Self::AlreadyHandled
            | Self::EventConflict
            | Self::TooOld => StatusCode::CONFLICT,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Contended | Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// The body of every error.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ErrorBody {
    /// What went wrong, for programs.
    code: Code,
    /// What went wrong, for people.
    message: String,
    /// What is wrong with which field, where that is the matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
    /// Who was first, how and when, where a notification is ALREADY_HANDLED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    handled_by: Option<Box<HandledBy>>,
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Detail {
    /// The field, by its path in the body, or the parameter or header.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

/// A refusal on its way out.
#[derive(Debug, Clone)]
pub struct ApiError(ErrorBody);

impl ApiError {
    /// An error without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(ErrorBody { code, message: message.into(), details: Vec::new(), handled_by: None })
    }

    /// 400 for one field.
    pub fn field(field: impl Into<String>, problem: impl ToString) -> Self {
        Self::fields([Detail { field: field.into(), problem: problem.to_string() }])
    }

    /// 400 for several fields.
    pub fn fields(details: impl IntoIterator<Item = Detail>) -> Self {
        Self::with_details(Code::BadRequest, details)
    }

    /// What nobody expected; the log has it.
    pub fn unexpected(error: &dyn std::error::Error) -> Self {
        tracing::error!(reason = %error, "unexpected error");
        Self::new(Code::Internal, "an unexpected error, logged under the request id")
    }

    /// A refusal because of several fields; the first one speaks for all in the message.
    pub fn with_details(code: Code, details: impl IntoIterator<Item = Detail>) -> Self {
        let details: Vec<Detail> = details.into_iter().collect();
        let message = details.first().map_or_else(
            || "the request is not valid".to_owned(),
            |detail| format!("{}: {}", detail.field, detail.problem),
        );
        Self(ErrorBody { code, message, details, handled_by: None })
    }

    /// 409 for whoever comes second, with who came first.
    pub fn already_handled(message: impl Into<String>, first: HandledBy) -> Self {
        let code = Code::AlreadyHandled;
        Self(ErrorBody { code, message: message.into(), details: Vec::new(), handled_by: Some(Box::new(first)) })
    }

    /// What went wrong, for programs.
    #[cfg(test)]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What went wrong, for people.
    #[cfg(test)]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The refusal as a response that the kernel stores.
    pub fn response(&self) -> belfry_aws::StoredResponse {
        belfry_aws::StoredResponse::json(self.0.code.status().as_u16(), &self.0)
    }

    /// The refusal as an answer that is stored and replayed.
    pub fn into_answer(self) -> Result<Answer, serde_json::Error> {
        Answer::json(self.0.code.status().as_u16(), &self.0)
    }
}

impl From<LedgerError> for ApiError {
    fn from(error: LedgerError) -> Self {
        match &error {
            LedgerError::Contended { .. } => {
                tracing::warn!(reason = %error, "contended");
                Self::new(Code::Contended, "too many changes to the same thing at once, try again")
            }
            LedgerError::Unavailable { .. } => {
                tracing::error!(reason = %error, "ledger unavailable");
                Self::new(Code::Unavailable, "temporarily unavailable, try again")
            }
            LedgerError::Refused { .. } | LedgerError::Corrupt(_) | LedgerError::Unwritable(_) => {
                Self::unexpected(&error)
            }
        }
    }
}

impl From<belfry_aws::Error> for ApiError {
    fn from(error: belfry_aws::Error) -> Self {
        use belfry_aws::Error;
        match error {
            Error::Contended { attempts } => LedgerError::Contended { attempts }.into(),
            Error::Unavailable { attempts, reason } => LedgerError::Unavailable { attempts, reason }.into(),
            error => Self::unexpected(&error),
        }
    }
}

/// The log has the reason already, once.
impl From<Unavailable> for ApiError {
    fn from(_: Unavailable) -> Self {
        Self::new(Code::Unavailable, "temporarily unavailable, try again")
    }
}

impl From<Corrupt> for ApiError {
    fn from(error: Corrupt) -> Self {
        LedgerError::from(error).into()
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        LedgerError::from(error).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = self.0.code;
        let mut response = (code.status(), axum::Json(self.0)).into_response();
        if matches!(code, Code::Contended | Code::Unavailable) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
