//! `GET /v1/outbox?status=FAILED | OVERDUE | IN_FLIGHT`: entries that are not published as they should be.
//!
//! One query per partition of the sparse index and one batch get: it costs what is stuck, whatever the table holds.

use axum::Json;
use axum::extract::State;
use belfry_http::{InQuery, Paging, cursor};
use domain::event::OutboxStatus;
use domain::{EventId, Time};
use ledger::outbox::{Entry, Shelf};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::{Allowed, Operate};

/// Outbox entries of one kind, oldest first.
#[utoipa::path(
    get,
    path = "/v1/outbox",
    security(("jwt" = ["operate"])),
    params(
        ("status" = String, Query, description = "FAILED, OVERDUE or IN_FLIGHT"),
        ("limit" = Option<u16>, Query, description = "1 to 100, 50 by default"),
        ("cursor" = Option<String>, Query, description = "next_cursor of the page before"),
    ),
    responses((status = 200, body = Outbox), (status = 400, body = ErrorBody))
)]
pub async fn list_outbox(
    State(api): Shared,
    _: Allowed<Operate>,
    InQuery(asked): InQuery<Asked>,
    paging: Paging,
) -> Result<Json<Outbox>, ApiError> {
    let shelf = match asked.status.as_deref() {
        Some("FAILED") => Shelf::Failed,
        Some("OVERDUE") => Shelf::Open,
        Some("IN_FLIGHT") => Shelf::InFlight,
        _ => return Err(ApiError::field("status", "must be FAILED, OVERDUE or IN_FLIGHT")),
    };
    paging.check_time_order()?;
    let page = api.commands.events.on_shelf(&api.commands.ledger, shelf, paging.limit, paging.after.as_deref()).await?;
    // What the stream still has time for is PENDING, and not overdue.
    let on_time = Time::now().minus(api.grace);
    let is_asked = |entry: &Entry| match shelf {
        Shelf::Open => {
            entry.status == OutboxStatus::Pending && entry.created_at.is_none_or(|created_at| created_at <= on_time)
        }
        Shelf::InFlight => entry.status == OutboxStatus::InFlight,
        Shelf::Failed => entry.status == OutboxStatus::Failed,
    };
    let events = page.rows.into_iter().filter(is_asked).map(OutboxEntry::of).collect();
    Ok(Json(Outbox { events, next_cursor: page.next.as_deref().map(cursor) }))
}

/// Which entries.
#[derive(Debug, Deserialize)]
pub struct Asked {
    status: Option<String>,
}

/// A page of outbox entries.
#[derive(Debug, Serialize, ToSchema)]
pub struct Outbox {
    events: Vec<OutboxEntry>,
    next_cursor: Option<String>,
}

/// An outbox entry as an operator sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct OutboxEntry {
    #[schema(value_type = String)]
    event_id: EventId,
    event_type: Option<String>,
    aggregate_type: Option<String>,
    aggregate_id: Option<String>,
    status: &'static str,
    attempt_count: u32,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_retry_at: Option<Time>,
    last_error: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    created_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    published_at: Option<Time>,
    locked_by: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    locked_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    lease_until: Option<Time>,
}

impl OutboxEntry {
    /// The entry.
    pub fn of(entry: Entry) -> Self {
        let next_retry_at = entry.next_retry_at.filter(|_| entry.status == OutboxStatus::Pending);
        Self {
            event_id: entry.event_id,
            event_type: entry.event_type,
            aggregate_type: entry.aggregate_type,
            aggregate_id: entry.aggregate_id,
            status: entry.status.as_str(),
            attempt_count: entry.attempt_count,
            next_retry_at,
            last_error: entry.last_error,
            created_at: entry.created_at,
            published_at: entry.published_at,
            locked_by: entry.locked_by,
            locked_at: entry.locked_at,
            lease_until: entry.lease_until,
        }
    }
}
