//! `PUT`, `GET` and `DELETE /v1/recipients/{user_type}/{user_id}`: who can be told, where.
//!
//! A put is one read and one transaction: the record, and its place among the members of a restaurant, an agency or the
//! admins. Repeating it changes nothing. A person may read their own record. What a record says must be there to be used:
//! the time zone, the event types of its wishes, the host of its webhook.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use belfry_http::{Detail, InPath, JsonBody};
use domain::recipient::{Preference, Recipient, RecipientDetails, bad_wishes};
use domain::routing::Routes;
use domain::{Audience, UserId};
use serde_json::Value;

use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, Caller, RecipientsWrite, Scope};
use crate::{Api, Shared};

/// Stores a recipient in place of what was known of them.
#[utoipa::path(
    put,
    path = "/v1/recipients/{user_type}/{user_id}",
    security(("jwt" = ["recipients:write"])),
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
    api.check_details(user_type, &body.parsed)?;
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
    security(("jwt" = ["recipients:write"])),
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

impl Api {
    /// Checks what no field can know by itself.
    fn check_details(&self, user_type: Audience, details: &RecipientDetails) -> Result<(), ApiError> {
        let detail = |field: &str, problem: &str| Detail { field: field.to_owned(), problem: problem.to_owned() };
        let mut wrong: Vec<Detail> =
            details.misfits(user_type).into_iter().map(|(field, problem)| detail(field, problem)).collect();
        if details.time_zone.as_ref().is_some_and(|zone| !texts::is_time_zone(zone.as_str())) {
            wrong.push(detail("time_zone", "there is no IANA time zone of this name"));
        }
        if details.slack_webhook_url.as_ref().is_some_and(|webhook| !self.slack_hosts.allow(webhook)) {
            wrong.push(detail("slack_webhook_url", "its host is not among those that are posted to"));
        }
        if wrong.is_empty() { check_wishes(&details.preferences) } else { Err(ApiError::fields(wrong)) }
    }
}

/// Checks that somebody is told of what the wishes are about.
pub fn check_wishes(preferences: &[Preference]) -> Result<(), ApiError> {
    let routes = Routes::load().map_err(|error| ApiError::unexpected(&error))?;
    let bad = bad_wishes(preferences, routes);
    if bad.is_empty() {
        return Ok(());
    }
    Err(ApiError::fields(bad.into_iter().map(|(field, problem)| Detail { field, problem })))
}

fn named(user_type: &str, user_id: String) -> Result<(Audience, UserId), ApiError> {
    let user_type = user_type.parse().map_err(|error| ApiError::field("user_type", error))?;
    Ok((user_type, UserId::parse(user_id).map_err(|error| ApiError::field("user_id", error))?))
}

fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "no such recipient")
}
