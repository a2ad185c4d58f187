//! `PUT`, `GET` and `DELETE /v1/recipients/{user_type}/{user_id}`: who can be told, where.
//!
//! A put is one read and one transaction: the record, and its place among the members of a restaurant, an agency or the
//! admins. Repeating it changes nothing. A person may read their own record.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::recipient::{Recipient, RecipientDetails};
use domain::{Audience, UserId};
use serde_json::Value;

use crate::Shared;
use crate::asked::InPath;
use crate::body::JsonBody;
use crate::caller::{Allowed, Caller, RecipientsWrite, Scope};
use crate::error::{ApiError, Code, Detail, ErrorBody};

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
    let (user_type, user_id) = named(&user_type, user_id)?;
    let misfits = body.parsed.misfits(user_type);
    if !misfits.is_empty() {
        let detail = |(field, problem): (&str, &str)| Detail { field: field.to_owned(), problem: problem.to_owned() };
        return Err(ApiError::fields(misfits.into_iter().map(detail)));
    }
    let recipient = Recipient { user_type, user_id, details: body.parsed, suppressed: Vec::new() };
    api.recipients.put(&api.commands.ledger, &recipient).await?;
    Ok(Json(serde_json::to_value(&recipient)?))
}

/// A recipient's record, for themselves or whoever maintains recipients.
#[utoipa::path(
    get,
    path = "/v1/recipients/{user_type}/{user_id}",
    params(("user_type" = String, Path), ("user_id" = String, Path)),
    responses((status = 200, body = Object), (status = 404, body = ErrorBody))
)]
pub async fn show_recipient(
    State(api): Shared,
    caller: Caller,
    InPath((user_type, user_id)): InPath<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    let (user_type, user_id) = named(&user_type, user_id)?;
    if !(caller.is(user_type, &user_id) || caller.may(Scope::RecipientsWrite) || caller.may(Scope::Operate)) {
        return Err(unknown());
    }
    let recipient = api.recipients.get(&api.commands.ledger, user_type, &user_id).await?.ok_or_else(unknown)?;
    Ok(Json(serde_json::to_value(&recipient)?))
}

/// Forgets a recipient: nothing is sent to them any more, and they are nobody's staff.
#[utoipa::path(
    delete,
    path = "/v1/recipients/{user_type}/{user_id}",
    params(("user_type" = String, Path), ("user_id" = String, Path)),
    responses((status = 204), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody))
)]
pub async fn delete_recipient(
    State(api): Shared,
    _: Allowed<RecipientsWrite>,
    InPath((user_type, user_id)): InPath<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let (user_type, user_id) = named(&user_type, user_id)?;
    let deleted = api.recipients.delete(&api.commands.ledger, user_type, &user_id).await?;
    if deleted { Ok(StatusCode::NO_CONTENT) } else { Err(unknown()) }
}

fn named(user_type: &str, user_id: String) -> Result<(Audience, UserId), ApiError> {
    let user_type = user_type.parse().map_err(|error| ApiError::field("user_type", error))?;
    Ok((user_type, UserId::parse(user_id).map_err(|error| ApiError::field("user_id", error))?))
}

fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "no such recipient")
}
