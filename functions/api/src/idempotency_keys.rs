//! `GET` and `DELETE /v1/idempotency-keys/{key}?caller=SUBJECT`: an operator looks one key up, or evicts it.
//!
//! One consistent read, or one conditional delete. A key belongs to issuer and subject; an operator sees the callers
//! of their own issuer.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use belfry_http::{InPath, InQuery};
use domain::{EventId, IdempotencyKey, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Shared;
use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, Caller, Operate};

/// A stored answer.
#[utoipa::path(
    get,
    path = "/v1/idempotency-keys/{key}",
    security(("jwt" = ["operate"])),
    params(("key" = String, Path), ("caller" = String, Query, description = "subject of the caller whose key it is")),
    responses((status = 200, body = KeyView), (status = 404, body = ErrorBody))
)]
pub async fn look_up(
    State(api): Shared,
    Allowed { caller: operator, .. }: Allowed<Operate>,
    InPath(key): InPath<String>,
    InQuery(whose): InQuery<Whose>,
) -> Result<Json<KeyView>, ApiError> {
    let (owner, key) = named(&operator, &key, whose)?;
    let commands = &api.commands;
    let record = commands.keys.get(&commands.ledger, &owner, &key, Time::now()).await?.ok_or_else(unknown)?;
    Ok(Json(KeyView {
        key: record.key,
        caller: record.caller,
        fingerprint: record.fingerprint.to_string(),
        status: record.status,
        body: record.body,
        event_ids: record.event_ids,
        created_at: record.created_at,
        expires_at: Time::from_millis(record.expires_at.saturating_mul(1_000)),
    }))
}

/// Evicts a key: the next request with it is a first one.
#[utoipa::path(
    delete,
    path = "/v1/idempotency-keys/{key}",
    security(("jwt" = ["operate"])),
    params(("key" = String, Path), ("caller" = String, Query, description = "subject of the caller whose key it is")),
    responses((status = 204), (status = 404, body = ErrorBody))
)]
pub async fn evict(
    State(api): Shared,
    Allowed { caller: operator, .. }: Allowed<Operate>,
    InPath(key): InPath<String>,
    InQuery(whose): InQuery<Whose>,
) -> Result<StatusCode, ApiError> {
    let (owner, key) = named(&operator, &key, whose)?;
    let commands = &api.commands;
    if !commands.keys.evict(&commands.ledger, &owner, &key, Time::now()).await? {
        return Err(unknown());
    }
    tracing::info!(operator = operator.identity.subject, caller = owner.subject, key = key.as_str(), "key evicted");
    Ok(StatusCode::NO_CONTENT)
}

/// Whose key is meant.
#[derive(Debug, Deserialize)]
pub struct Whose {
    caller: Option<String>,
}

/// A stored answer, as an operator sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyView {
    key: String,
    caller: String,
    /// SHA-256 of the request.
    fingerprint: String,
    /// The answer's status.
    status: u16,
    /// The answer's body, as it was given.
    body: String,
    /// The events that the command committed, whose stories tell what became of it; none of a refusal.
    #[schema(value_type = Vec<String>)]
    event_ids: Vec<EventId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Option<Time>,
}

fn named(operator: &Caller, key: &str, whose: Whose) -> Result<(domain::Caller, IdempotencyKey), ApiError> {
    let key = IdempotencyKey::parse(key).map_err(|error| ApiError::field("key", error))?;
    let subject = whose.caller.filter(|subject| !subject.is_empty());
    let subject = subject.ok_or_else(|| ApiError::field("caller", "must name the caller whose key it is"))?;
    Ok((domain::Caller { issuer: operator.identity.issuer.clone(), subject }, key))
}

fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "no such key")
}
