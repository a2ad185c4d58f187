//! Error codes and the body of every error.

use axum::response::{IntoResponse, Response};
use belfry_aws::StoredResponse;
use belfry_http::{Detail, ErrorCode, HttpError};
use domain::notification::HandledBy;
use ledger::{Corrupt, LedgerError};
use runtime::secrets::Unavailable;
use serde::Serialize;
use utoipa::ToSchema;

use super::identity::Scope;

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

impl From<Code> for ErrorCode {
    fn from(code: Code) -> Self {
        match code {
            Code::BadRequest => Self::BAD_REQUEST,
            Code::Unauthenticated => Self::UNAUTHENTICATED,
            Code::Forbidden => Self::FORBIDDEN,
            Code::NotFound => Self::NOT_FOUND,
            Code::IdempotencyKeyConflict => Self::IDEMPOTENCY_KEY_CONFLICT,
            Code::EntitlementStateConflict => Self::new(409, "ENTITLEMENT_STATE_CONFLICT"),
            Code::ReservationStateConflict => Self::new(409, "RESERVATION_STATE_CONFLICT"),
            Code::OrderStateConflict => Self::new(409, "ORDER_STATE_CONFLICT"),
            Code::AlreadyHandled => Self::new(409, "ALREADY_HANDLED"),
            Code::EventConflict => Self::new(409, "EVENT_CONFLICT"),
            Code::TooOld => Self::new(409, "TOO_OLD"),
            Code::PayloadTooLarge => Self::PAYLOAD_TOO_LARGE,
            Code::UnsupportedMediaType => Self::UNSUPPORTED_MEDIA_TYPE,
            Code::Contended => Self::CONTENDED,
            Code::Unavailable => Self::UNAVAILABLE,
            Code::Internal => Self::INTERNAL,
        }
    }
}

/// An error on its way to the client.
#[derive(Debug, Clone)]
pub struct ApiError(HttpError);

impl ApiError {
    /// An error without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        HttpError::new(code, message).into()
    }

    /// 400 for one field.
    pub fn field(field: impl Into<String>, problem: impl ToString) -> Self {
        HttpError::field(field, problem).into()
    }

    /// 400 for several fields.
    pub fn fields(details: impl IntoIterator<Item = Detail>) -> Self {
        HttpError::fields(details).into()
    }

    /// 500 for an error that nobody expected; it is logged.
    pub fn unexpected(error: &dyn std::error::Error) -> Self {
        HttpError::unexpected(error).into()
    }

    /// An error about several fields. The message names the first.
    pub fn with_details(code: Code, details: impl IntoIterator<Item = Detail>) -> Self {
        HttpError::with_details(code, details).into()
    }

    /// 409 for the second to handle a notification, with who was first.
    pub fn already_handled(message: impl Into<String>, first: &HandledBy) -> Self {
        let first = serde_json::to_value(first).unwrap_or_default();
        HttpError::new(Code::AlreadyHandled, message).with("handled_by", first).into()
    }

    /// 403 for a caller who is not among those who may do this without the scope.
    pub fn scope_is_missing(scope: Scope) -> Self {
        Self::new(Code::Forbidden, format!("not for this caller: the scope {} is missing", scope.as_str()))
    }

    /// The code.
    #[cfg(test)]
    pub fn code(&self) -> ErrorCode {
        self.0.code()
    }

    /// The message.
    #[cfg(test)]
    pub fn message(&self) -> &str {
        self.0.message()
    }

    /// The response as a command stores it.
    pub fn stored(&self) -> StoredResponse {
        self.0.stored()
    }
}

macro_rules! converted {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                Self(error.into())
            }
        }
    )+};
}

converted!(belfry_aws::Error, belfry_aws::Corrupt);

impl From<ApiError> for HttpError {
    fn from(error: ApiError) -> Self {
        error.0
    }
}

impl From<HttpError> for ApiError {
    fn from(error: HttpError) -> Self {
        Self(error)
    }
}

/// It is logged already.
impl From<Unavailable> for ApiError {
    fn from(_: Unavailable) -> Self {
        Self::new(Code::Unavailable, "temporarily unavailable; retry")
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        belfry_aws::Error::from(belfry_aws::Unwritable::from(error)).into()
    }
}

impl From<LedgerError> for ApiError {
    fn from(error: LedgerError) -> Self {
        use belfry_aws::Error;
        match error {
            LedgerError::Contended { attempts } => Error::Contended { attempts },
            LedgerError::Unavailable { attempts, reason } => Error::Unavailable { attempts, reason },
            LedgerError::Refused { reason } => Error::Refused { reason },
            LedgerError::Corrupt(_) | LedgerError::Unwritable(_) => return Self::unexpected(&error),
        }
        .into()
    }
}

impl From<Corrupt> for ApiError {
    fn from(error: Corrupt) -> Self {
        Self::unexpected(&error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// What went wrong, for programs.
    code: Code,
    /// What went wrong, for people.
    message: String,
    /// What is wrong with which field, where that is the matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<DetailBody>)]
    details: Vec<Detail>,
    /// Who was first, how and when, where a notification is ALREADY_HANDLED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    handled_by: Option<Box<HandledBy>>,
}

/// What is wrong with one field.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Detail)]
pub struct DetailBody {
    /// The field, by its path in the body, or the parameter or header.
    field: String,
    /// What is wrong with it.
    problem: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_name_that_is_described() {
        for code in
            [Code::BadRequest, Code::OrderStateConflict, Code::AlreadyHandled, Code::EventConflict, Code::TooOld]
        {
            assert_eq!(serde_json::json!(code), ErrorCode::from(code).as_str());
        }
    }
}
