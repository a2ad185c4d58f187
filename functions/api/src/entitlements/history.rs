//! `GET /v1/users/{user_id}/entitlements/{stock_keeping_unit}/history`: the audit trail, newest first.
//!
//! One query of the index `by_aggregate`. It lags by moments, and orders by version, so paging stays stable while new
//! entries come in at the front.

use axum::Json;
use axum::extract::State;
use belfry_aws::outbox::History as Events;
use belfry_http::{HttpError, InPath, Paging, bad_cursor, cursor};
use domain::entitlement::{self, EntitlementChanged};
use domain::{EventId, StockKeepingUnit, Time, UserId};
use serde::Serialize;
use utoipa::ToSchema;

use super::readable_user;
use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::Caller;

/// A page of an entitlement's audit trail.
#[utoipa::path(
    get,
    path = "/v1/users/{user_id}/entitlements/{stock_keeping_unit}/history",
    params(
        ("user_id" = String, Path),
        ("stock_keeping_unit" = String, Path),
        ("limit" = Option<u16>, Query, description = "1 to 100, 50 by default"),
        ("cursor" = Option<String>, Query, description = "next_cursor of the page before"),
    ),
    responses((status = 200, body = History), (status = 404, body = ErrorBody))
)]
pub async fn entitlement_history(
    State(api): Shared,
    caller: Caller,
    InPath((user_id, unit)): InPath<(String, String)>,
    paging: Paging,
) -> Result<Json<History>, ApiError> {
    let user_id = readable_user(&caller, user_id)?;
    let unit = StockKeepingUnit::parse(unit).map_err(|error| HttpError::field("stock_keeping_unit", error))?;
    let (kind, id) = entitlement::history((&user_id, &unit));
    let after = paging.after.as_deref().map(read_cursor).transpose()?;
    let page = api.belfry.history(Events::Own((kind, &id)), paging.limit, after).await?;
    let events = page.rows.into_iter().map(|past| {
        let changed: EntitlementChanged = serde_json::from_value(past.payload)?;
        Ok(HistoryEntry {
            event_id: changed.event_id,
            event_type: past.event_type,
            occurred_at: changed.occurred_at,
            version: changed.version,
            source: changed.source.into(),
            source_id: changed.source_id.into(),
            actor: past.actor,
        })
    });
    let events = events.collect::<Result<_, serde_json::Error>>()?;
    Ok(Json(History { user_id, stock_keeping_unit: unit, events, next_cursor: page.next.as_deref().map(cursor) }))
}

/// The sequence and the event id that a cursor of this list holds.
fn read_cursor(after: &str) -> Result<(&str, &str), HttpError> {
    let (sequence, event_id) = after.split_once('#').ok_or_else(bad_cursor)?;
    let is_sequence = !sequence.is_empty() && sequence.bytes().all(|byte| byte.is_ascii_digit());
    if is_sequence && EventId::parse(event_id).is_ok() { Ok((sequence, event_id)) } else { Err(bad_cursor()) }
}

/// A page of an entitlement's audit trail.
#[derive(Debug, Serialize, ToSchema)]
pub struct History {
    #[schema(value_type = String)]
    user_id: UserId,
    #[schema(value_type = String)]
    stock_keeping_unit: StockKeepingUnit,
    events: Vec<HistoryEntry>,
    next_cursor: Option<String>,
}

/// One change of an entitlement.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryEntry {
    event_id: String,
    event_type: String,
    #[schema(value_type = String, format = DateTime)]
    occurred_at: Time,
    version: u64,
    /// The reason.
    source: String,
    /// The purchase.
    source_id: String,
    /// Whose command it was.
    actor: Option<String>,
}
