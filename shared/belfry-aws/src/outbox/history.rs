//! The audit trail of an aggregate: its events, newest first.

use belfry_core::id::compose;
use belfry_core::item::{from_item, text};
use belfry_core::{Corrupt, EventId, Timestamp};
use serde::Deserialize;

use super::entry::start_of;
use crate::dynamo::{Query, partition};
use crate::tables::{BY_AGGREGATE, EVENTS};
use crate::{Belfry, Error, Page};

/// The events of an aggregate, given by its type and id. Events that other systems sent have a history of their own, so
/// that nobody can write into the audit trail of our aggregates.
#[derive(Debug, Clone, Copy)]
pub enum History<'a> {
    /// Events that our commands and consumers recorded.
    Own((&'a str, &'a str)),
    /// Events that other systems sent.
    Ingested((&'a str, &'a str)),
}

impl History<'_> {
    pub(super) fn partition(self) -> String {
        match self {
            Self::Own((kind, id)) => compose(&[kind, id]),
            Self::Ingested((kind, id)) => compose(&["HANDED_IN", kind, id]),
        }
    }
}

/// An event of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastEvent {
    /// Its id.
    pub event_id: EventId,
    /// The version of the aggregate after it, if versions order the aggregate's events.
    pub version: Option<u64>,
    /// Its type.
    pub event_type: String,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// Who caused it.
    pub actor: Option<String>,
    /// Its payload.
    pub payload: serde_json::Value,
}

#[derive(Debug, Deserialize)]
struct Row {
    event_id: EventId,
    sequence: String,
    event_type: String,
    occurred_at: Timestamp,
    actor: Option<String>,
    payload: String,
}

impl Belfry {
    /// One page of a history, newest first, from after the row with this sequence and event id. The index lags by moments.
    pub async fn history(
        &self,
        history: History<'_>,
        limit: u16,
        after: Option<(&str, &str)>,
    ) -> Result<Page<PastEvent>, Error> {
        let aggregate = history.partition();
        let start = after.map(|(sequence, event_id)| start_of(&BY_AGGREGATE, &aggregate, sequence, event_id));
        let query = Query::index(EVENTS, BY_AGGREGATE.name, partition("aggregate", text(&aggregate)))
            .descending(true)
            .limit(limit)
            .after(start);
        let page = self.query(&query).await?;
        let rows = page.items.into_iter().map(|item| from_item(EVENTS.name, item));
        let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
        let next = rows.last().filter(|_| page.next.is_some()).map(|row| format!("{}#{}", row.sequence, row.event_id));
        let rows = rows.into_iter().map(|row| {
            let payload = serde_json::from_str(&row.payload).map_err(|error| Corrupt::new(EVENTS.name, &error))?;
            Ok(PastEvent {
                event_id: row.event_id,
                // Events without a version are ordered by the time, which is not a number.
                version: row.sequence.parse().ok(),
                event_type: row.event_type,
                occurred_at: row.occurred_at,
                actor: row.actor,
                payload,
            })
        });
        Ok(Page { rows: rows.collect::<Result<_, Corrupt>>()?, next })
    }
}
