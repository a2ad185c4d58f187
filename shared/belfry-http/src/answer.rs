//! Responses of commands: as they are stored, and as they are replayed.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_aws::{Executed, StoredResponse};
use serde::Serialize;

use crate::error::{ErrorCode, HttpError};

/// What a handler returns.
pub type Result<T = Answer, E = HttpError> = std::result::Result<T, E>;

/// The HTTP response of a command. A replayed one has the header `Idempotency-Replayed: true`.
#[derive(Debug)]
pub struct Answer(Response);

impl<T> From<Executed<T>> for Answer {
    fn from(executed: Executed<T>) -> Self {
        Self(match executed {
            Executed::Accepted { response, .. } | Executed::Refused { response, .. } => json_response(response),
            Executed::Replayed(response) => {
                ([("idempotency-replayed", "true")], json_response(response)).into_response()
            }
            _ => {
                let message = "Idempotency-Key was already used with a different request";
                HttpError::new(ErrorCode::IDEMPOTENCY_KEY_CONFLICT, message).into_response()
            }
        })
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        self.0
    }
}

/// Makes the response of a command: the view of its output with this status, or the error that a refusal becomes.
///
/// ```
/// use belfry_http::{ErrorCode, HttpError, respond};
///
/// #[derive(serde::Serialize)]
/// struct LoanView {
///     due: &'static str,
/// }
///
/// let render = respond(201, |due: &&'static str| LoanView { due }, |refusal: &String| {
///     HttpError::new(ErrorCode::new(409, "ALREADY_LENT"), refusal)
/// });
/// assert_eq!(render(Ok(&"2026-12-01")).body, r#"{"due":"2026-12-01"}"#);
/// assert_eq!(render(Err(&"lent to ada".to_owned())).status, 409);
/// ```
pub fn respond<T, R, V: Serialize>(
    status: u16,
    view: impl Fn(&T) -> V,
    error: impl Fn(&R) -> HttpError,
) -> impl Fn(std::result::Result<&T, &R>) -> StoredResponse {
    move |end| match end {
        Ok(output) => StoredResponse::json(status, &view(output)),
        Err(refusal) => error(refusal).stored(),
    }
}

pub(crate) fn json_response(response: StoredResponse) -> Response {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], response.body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_replay_is_marked_as_one() {
        let response = StoredResponse::json(201, "lent");
        let accepted = Executed::Accepted { response: response.clone(), output: (), events: Vec::new() };
        let accepted = Answer::from(accepted).into_response();
        assert_eq!(accepted.status(), StatusCode::CREATED);
        assert!(!accepted.headers().contains_key("idempotency-replayed"));
        let replayed = Answer::from(Executed::<()>::Replayed(response)).into_response();
        assert_eq!(replayed.status(), StatusCode::CREATED);
        assert_eq!(replayed.headers()["idempotency-replayed"], "true");
        let conflict = Answer::from(Executed::<()>::KeyConflict).into_response();
        assert_eq!(conflict.status(), StatusCode::CONFLICT);
    }
}
