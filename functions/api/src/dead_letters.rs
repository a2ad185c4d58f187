//! `GET /v1/dead-letters` and `GET /v1/dead-letters/{id}`: what consumers gave up on, and why.
//!
//! A list is one query per partition of the index and one batch get; in it a long body is cut, the letter itself has it
//! whole.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use belfry_http::{InPath, InQuery, Paging, cursor};
use domain::dead_letter::{DeadLetter, DeadLetterFilter, Handled, PastFailure};
use domain::{EventId, Time};
use ledger::dead_letters::Order;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Shared;
use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, Operate};

/// How much of a body a list shows, in characters.
const SHOWN: usize = 2_000;

/// Dead letters, newest first.
#[utoipa::path(
    get,
    path = "/v1/dead-letters",
    security(("jwt" = ["operate"])),
    params(
        ("queue" = Option<String>, Query, description = "of this queue"),
        ("event_type" = Option<String>, Query, description = "of this event type"),
        ("reason" = Option<String>, Query, description = "with this in the reason"),
        ("since" = Option<String>, Query, description = "given up on at this time or later"),
        ("until" = Option<String>, Query, description = "given up on before this time"),
        ("status" = Option<String>, Query, description = "OPEN, REDRIVEN or DISCARDED"),
        ("limit" = Option<u16>, Query, description = "1 to 100, 50 by default"),
        ("cursor" = Option<String>, Query, description = "next_cursor of the page before"),
    ),
    responses((status = 200, body = DeadLetterList), (status = 400, body = ErrorBody))
)]
pub async fn list_dead_letters(
    State(api): Shared,
    _: Allowed<Operate>,
    InQuery(filter): InQuery<ListFilter>,
    paging: Paging,
) -> Result<Json<DeadLetterList>, ApiError> {
    paging.check_time_order()?;
    let page = (Order::NewestFirst, paging.limit, paging.after.as_deref());
    let page = api.dead_letters.list(&api.commands.ledger, &filter.0, page).await?;
    let dead_letters = page.rows.into_iter().map(|letter| {
        let cut = letter.body.char_indices().nth(SHOWN).map(|(at, _)| at);
        let mut view = DeadLetterView { attributes: BTreeMap::new(), past: Vec::new(), ..DeadLetterView::of(letter) };
        if let Some(at) = cut {
            view.body.truncate(at);
            view.body_is_cut = true;
        }
        view
    });
    Ok(Json(DeadLetterList { dead_letters: dead_letters.collect(), next_cursor: page.next.as_deref().map(cursor) }))
}

/// One dead letter, whole.
#[utoipa::path(
    get,
    path = "/v1/dead-letters/{id}",
    security(("jwt" = ["operate"])),
    params(("id" = String, Path)),
    responses((status = 200, body = DeadLetterView), (status = 404, body = ErrorBody))
)]
pub async fn show_dead_letter(
    State(api): Shared,
    _: Allowed<Operate>,
    InPath(id): InPath<String>,
) -> Result<Json<DeadLetterView>, ApiError> {
    let letter = api.dead_letters.get(&api.commands.ledger, &dead_letter_id(&id)?).await?;
    Ok(Json(DeadLetterView::of(letter.ok_or_else(unknown)?)))
}

/// The id in a path. What cannot be an id is the id of nothing.
pub fn dead_letter_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::parse_str(text).map_err(|_| unknown())
}

/// The refusal of an id that no dead letter has.
pub fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "no such dead letter")
}

/// The filter of a list, whose query has the paging beside it.
#[derive(Debug, serde::Deserialize)]
#[serde(from = "Asked")]
pub struct ListFilter(DeadLetterFilter);

#[derive(serde::Deserialize)]
struct Asked {
    queue: Option<String>,
    event_type: Option<String>,
    reason: Option<String>,
    since: Option<Time>,
    until: Option<Time>,
    status: Option<domain::dead_letter::DeadLetterStatus>,
}

impl From<Asked> for ListFilter {
    fn from(asked: Asked) -> Self {
        let Asked { queue, event_type, reason, since, until, status } = asked;
        Self(DeadLetterFilter { queue, event_type, reason, since, until, status })
    }
}

/// A page of dead letters.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetterList {
    dead_letters: Vec<DeadLetterView>,
    next_cursor: Option<String>,
}

/// A dead letter as it is shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetterView {
    dead_letter_id: Uuid,
    queue: String,
    consumer: String,
    #[schema(value_type = Option<String>)]
    event_id: Option<EventId>,
    event_type: Option<String>,
    reason: String,
    receive_count: u32,
    body: String,
    /// The list shows only the beginning of the body.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    body_is_cut: bool,
    status: &'static str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    /// Who redrove or discarded it.
    handled_by: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    handled_at: Option<Time>,
    /// The message's attributes, which a redrive sends again; of one letter alone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, String>,
    /// How it failed before it was redriven; of one letter alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    past: Vec<PastFailure>,
    version: u64,
}

impl DeadLetterView {
    /// The whole letter.
    pub fn of(letter: DeadLetter) -> Self {
        let (handled_by, handled_at) = letter.handled.map(|Handled { by, at }| (by, at)).unzip();
        Self {
            dead_letter_id: letter.dead_letter_id,
            queue: letter.queue,
            consumer: letter.consumer,
            event_id: letter.event_id,
            event_type: letter.event_type,
            reason: letter.reason,
            receive_count: letter.receive_count,
            body: letter.body,
            body_is_cut: false,
            status: letter.status.as_str(),
            created_at: letter.created_at,
            handled_by,
            handled_at,
            attributes: letter.attributes,
            past: letter.past,
            version: letter.version,
        }
    }
}
