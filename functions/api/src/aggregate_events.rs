//! `GET /v1/events?aggregate_type=&aggregate_id=`: what happened to one thing, newest first.
//!
//! One query of the index `by_aggregate`, two where the list goes over from Belfry's own events to those that sources
//! handed in under the same name. The two have histories apart, so that nobody can write into the audit of an aggregate of
//! ours; the own ones come first. The index lags by moments.

use axum::Json;
use axum::extract::State;
use belfry_http::{Detail, InQuery, Paging, bad_cursor, cursor};
use domain::{EventId, Time};
use ledger::events::{Past, Trail};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, Operate};
use crate::{Api, Shared};

/// The events of one aggregate.
#[utoipa::path(
    get,
    path = "/v1/events",
    security(("jwt" = ["operate"])),
    params(
        ("aggregate_type" = String, Query, description = "the kind of thing: Entitlement, Order, Reservation, or a source's own"),
        ("aggregate_id" = String, Query, description = "which one, as an event's story names it"),
        ("limit" = Option<u16>, Query, description = "1 to 100, 50 by default"),
        ("cursor" = Option<String>, Query, description = "next_cursor of the page before"),
    ),
    responses((status = 200, body = AggregateEvents), (status = 400, body = ErrorBody))
)]
pub async fn aggregate_events(
    State(api): Shared,
    _: Allowed<Operate>,
    InQuery(asked): InQuery<Asked>,
    paging: Paging,
) -> Result<Json<AggregateEvents>, ApiError> {
    let aggregate = asked.aggregate()?;
    let from = paging.after.as_deref().map_or(Ok(Place::Own(None)), Place::parse)?;
    let (events, next) = api.events_of(&aggregate, paging.limit, from).await?;
    Ok(Json(AggregateEvents { events, next_cursor: next.as_deref().map(cursor) }))
}

/// Which aggregate.
#[derive(Debug, Deserialize)]
pub struct Asked {
    aggregate_type: Option<String>,
    aggregate_id: Option<String>,
}

impl Asked {
    fn aggregate(self) -> Result<(String, String), ApiError> {
        let named = |name: &Option<String>| name.as_ref().is_some_and(|name| !name.is_empty());
        let missing: Vec<Detail> = [("aggregate_type", &self.aggregate_type), ("aggregate_id", &self.aggregate_id)]
            .into_iter()
            .filter(|(_, value)| !named(value))
            .map(|(field, _)| Detail { field: field.to_owned(), problem: "must name the aggregate".to_owned() })
            .collect();
        match (self.aggregate_type, self.aggregate_id) {
            (Some(kind), Some(id)) if missing.is_empty() => Ok((kind, id)),
            _ => Err(ApiError::with_details(Code::BadRequest, missing)),
        }
    }
}

/// Where a page begins: in which of the two histories, and behind which row of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place<'a> {
    Own(Option<(&'a str, &'a str)>),
    HandedIn(Option<(&'a str, &'a str)>),
}

const OWN: &str = "own";
const HANDED_IN: &str = "handed_in";

impl<'a> Place<'a> {
    fn parse(text: &'a str) -> Result<Self, ApiError> {
        let (history, row) = text.split_once('#').ok_or_else(bad_cursor)?;
        let row = match row {
            "" => None,
            row => Some(row.split_once('#').filter(|(sequence, id)| is_row(sequence, id)).ok_or_else(bad_cursor)?),
        };
        match history {
            OWN => Ok(Self::Own(row)),
            HANDED_IN => Ok(Self::HandedIn(row)),
            _ => Err(bad_cursor().into()),
        }
    }
}

fn is_row(sequence: &str, event_id: &str) -> bool {
    !sequence.is_empty() && sequence.bytes().all(|byte| byte.is_ascii_graphic()) && EventId::parse(event_id).is_ok()
}

impl Api {
    /// One page, and the place of the next one.
    async fn events_of(
        &self,
        aggregate: &(String, String),
        limit: u16,
        from: Place<'_>,
    ) -> Result<(Vec<PastEvent>, Option<String>), ApiError> {
        let (ledger, table) = (&self.commands.ledger, &self.commands.events);
        let mut events = Vec::new();
        let behind = match from {
            Place::HandedIn(behind) => behind,
            Place::Own(behind) => {
                let page = table.of_aggregate(ledger, Trail::Own(aggregate), limit, behind).await?;
                events.extend(page.rows.into_iter().map(|past| PastEvent::of(past, false)));
                if let Some(next) = page.next {
                    return Ok((events, Some(format!("{OWN}#{next}"))));
                }
                None
            }
        };
        let left = limit.saturating_sub(u16::try_from(events.len()).unwrap_or(limit));
        if left == 0 {
            return Ok((events, Some(format!("{HANDED_IN}#"))));
        }
        let page = table.of_aggregate(ledger, Trail::HandedIn(aggregate), left, behind).await?;
        events.extend(page.rows.into_iter().map(|past| PastEvent::of(past, true)));
        Ok((events, page.next.map(|next| format!("{HANDED_IN}#{next}"))))
    }
}

/// A page of an aggregate's events.
#[derive(Debug, Serialize, ToSchema)]
pub struct AggregateEvents {
    events: Vec<PastEvent>,
    next_cursor: Option<String>,
}

/// One event of an aggregate. `GET /v1/events/{event_id}` has its story.
#[derive(Debug, Serialize, ToSchema)]
pub struct PastEvent {
    #[schema(value_type = String)]
    event_id: EventId,
    event_type: String,
    #[schema(value_type = String, format = DateTime)]
    occurred_at: Time,
    /// The aggregate's version that it made.
    version: Option<u64>,
    /// Whose command it was, or which source handed it in.
    actor: Option<String>,
    /// A source handed it in.
    handed_in: bool,
}

impl PastEvent {
    fn of(past: Past, handed_in: bool) -> Self {
        Self {
            event_id: past.event_id,
            event_type: past.event_type,
            occurred_at: past.occurred_at,
            version: past.version,
            actor: past.actor,
            handed_in,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_one_of_two_histories_and_a_row_or_the_beginning() {
        assert_eq!(
            Place::parse("own#00000000000000000003#e#1").ok(),
            Some(Place::Own(Some(("00000000000000000003", "e#1"))))
        );
        assert_eq!(Place::parse("handed_in#").ok(), Some(Place::HandedIn(None)));
        for wrong in ["own", "own#3", "own##e", "own#3#", "theirs#3#e", "#3#e", "own#a b#e"] {
            assert!(Place::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_aggregate_needs_both_its_names() {
        let asked = |kind: Option<&str>, id: Option<&str>| Asked {
            aggregate_type: kind.map(str::to_owned),
            aggregate_id: id.map(str::to_owned),
        };
        assert!(asked(Some("Order"), Some("o")).aggregate().is_ok());
        for (kind, id, said) in [
            (None, Some("o"), "aggregate_type: must name the aggregate"),
            (Some("Order"), Some(""), "aggregate_id: must name the aggregate"),
            (None, None, "aggregate_type: must name the aggregate"),
        ] {
            assert_eq!(asked(kind, id).aggregate().expect_err("a refusal").message(), said);
        }
    }
}
