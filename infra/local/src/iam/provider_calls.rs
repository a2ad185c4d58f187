//! Checks the calls to the local providers: the clients of SES and SMS have their own HTTP clients.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{AccessDenied, IamGate, SignedRequest};

/// More than any provider accepts.
const LARGEST_REQUEST: usize = 64 * 1024 * 1024;

/// Answers denied calls.
pub async fn authorize_provider_calls(State(iam): State<IamGate>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST_REQUEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let signed = SignedRequest::read(header, parts.method.as_str(), parts.uri.path(), &body);
    match iam.authorize(signed.as_ref()) {
        Ok(()) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Err(denied) => answer(&denied),
    }
}

fn answer(denied: &AccessDenied) -> Response {
    let status = StatusCode::from_u16(denied.status()).unwrap_or(StatusCode::FORBIDDEN);
    let headers = [(CONTENT_TYPE.as_str(), "application/x-amz-json-1.0"), ("x-amzn-errortype", AccessDenied::NAME)];
    (status, headers, denied.json()).into_response()
}
