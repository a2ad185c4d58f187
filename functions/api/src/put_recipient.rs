//! `PUT /v1/recipients/{user_type}/{user_id}`: who can be told, where. One put; repeating it changes nothing.

use axum::Json;
use axum::extract::State;
use domain::recipient::{Recipient, RecipientDetails};
use domain::{Audience, UserId};
use serde_json::Value;

use crate::Shared;
use crate::asked::InPath;
use crate::body::JsonBody;
use crate::caller::{Allowed, RecipientsWrite};
use crate::error::{ApiError, Detail, ErrorBody};

/// Stores a recipient in place of what was known of them.
#[utoipa::path(
    put,
    path = "/v1/recipients/{user_type}/{user_id}",
    params(("user_type" = String, Path), ("user_id" = String, Path)),
    request_body(content = Object, description = "name, email, phone, push_tokens, slack_webhook_url, restaurant_id or agency_id, locale, time_zone, preferences"),
    responses((status = 200, body = Object), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody))
)]
pub async fn put_recipient(
    State(api): Shared,
    _: Allowed<RecipientsWrite>,
    InPath((user_type, user_id)): InPath<(String, String)>,
    body: JsonBody<RecipientDetails>,
) -> Result<Json<Value>, ApiError> {
    let user_type: Audience = user_type.parse().map_err(|error| ApiError::field("user_type", error))?;
    let user_id = UserId::parse(user_id).map_err(|error| ApiError::field("user_id", error))?;
    let misfits = body.parsed.misfits(user_type);
    if !misfits.is_empty() {
        let detail = |(field, problem): (&str, &str)| Detail { field: field.to_owned(), problem: problem.to_owned() };
        return Err(ApiError::fields(misfits.into_iter().map(detail)));
    }
    let recipient = Recipient { user_type, user_id, details: body.parsed };
    api.recipients.put(&api.commands.ledger, &recipient).await?;
    Ok(Json(serde_json::to_value(&recipient)?))
}
