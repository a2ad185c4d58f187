//! `PUT /v1/inbox/preferences`: what the caller wishes to hear, and through which channels.
//!
//! One round trip: of the caller's own recipient record the wishes alone are changed, if there is one, so that nobody
//! who puts the record at the same time is overwritten. Repeating it changes nothing.

use axum::Json;
use axum::extract::State;
use belfry_http::JsonBody;
use domain::recipient::Preference;
use serde::Deserialize;
use serde_json::Value;

use crate::Shared;
use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::Caller;
use crate::recipients::check_wishes;

/// Stores the caller's wishes in place of those that stand in their record.
#[utoipa::path(
    put,
    path = "/v1/inbox/preferences",
    request_body(content = Object, description = "preferences: up to 100 of event_type or *, channel or *, enabled"),
    responses(
        (status = 200, description = "the whole record", body = Object),
        (status = 400, body = ErrorBody),
        (status = 404, description = "nobody has put a record of the caller", body = ErrorBody),
    )
)]
pub async fn put_preferences(
    State(api): Shared,
    caller: Caller,
    body: JsonBody<Wishes>,
) -> Result<Json<Value>, ApiError> {
    let (audience, user_id) = caller.as_user()?;
    let preferences = body.parsed.preferences;
    check_wishes(&preferences)?;
    let recipient = api.recipients.put_preferences(&api.commands.ledger, audience, &user_id, &preferences).await?;
    let message = "there is no recipient record of this caller that could hold preferences";
    let recipient = recipient.ok_or_else(|| ApiError::new(Code::NotFound, message))?;
    Ok(Json(serde_json::to_value(&recipient)?))
}

/// The body.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wishes {
    preferences: Vec<Preference>,
}
