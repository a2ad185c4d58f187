//! `GET /schemas/{event_type}`: the JSON Schema of an event type's payload, as it is committed. No token, no I/O.

use axum::http::header;
use axum::response::IntoResponse;

use crate::http::error::{ApiError, Code, ErrorBody};
use belfry_http::InPath;

/// The JSON Schema of an event type's payload.
#[utoipa::path(
    get,
    path = "/schemas/{event_type}",
    security(()),
    params(("event_type" = String, Path, example = "EntitlementGranted")),
    responses(
        (status = 200, content_type = "application/schema+json", body = Object),
        (status = 404, body = ErrorBody)
    )
)]
pub async fn schema(InPath(event_type): InPath<String>) -> Result<impl IntoResponse, ApiError> {
    let no_such_type = || ApiError::new(Code::NotFound, "no such event type");
    let schema = domain::schemas::schema(&event_type).ok_or_else(no_such_type)?;
    Ok(([(header::CONTENT_TYPE, "application/schema+json")], schema))
}
