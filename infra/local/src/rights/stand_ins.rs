//! The same judgement in front of the providers' stand-ins: the clients of SES and SMS bring HTTP clients of their own.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{Asked, Denied, Door};

/// More than any provider takes.
const LARGEST_REQUEST: usize = 64 * 1024 * 1024;

/// Answers what the door denies; everything else goes on.
pub async fn judge_stand_ins(State(door): State<Door>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST_REQUEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let asked = Asked::read(header, (parts.method.as_str(), parts.uri.path()), &body);
    match asked.map_or(Ok(()), |asked| door.judge(&asked)) {
        Ok(()) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Err(denied) => answer(&denied),
    }
}

fn answer(denied: &Denied) -> Response {
    let status = StatusCode::from_u16(denied.status()).unwrap_or(StatusCode::FORBIDDEN);
    let headers = [(CONTENT_TYPE.as_str(), "application/x-amz-json-1.0"), ("x-amzn-errortype", Denied::NAME)];
    (status, headers, denied.json()).into_response()
}
