//! Table of events: outbox entry and audit entry in one item. This file knows the event, `outbox` its way out.
//!
//! The key is the event's id, so handing an event in twice is one conditional put. `by_aggregate` serves the
//! history; `unpublished` is sparse, holds only what is not yet published and is spread over partitions, so that
//! no single one takes all writes.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::event::OutboxStatus;
use domain::id::compose;
use domain::{Event, EventId, Fingerprint, Time, Trace};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::attempt::{Fate, fate};
use crate::commit::Write;
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, from_item, text, to_item};
use crate::outbox::Shelf;
use crate::read::Page;

/// Whose events of an aggregate, by its type and id. What sources hand in has histories of its own: nobody can write into the
/// audit of an aggregate of ours.
#[derive(Debug, Clone, Copy)]
pub enum Trail<'a> {
    /// Ours.
    Own(&'a (String, String)),
    /// Those that sources handed in.
    HandedIn(&'a (String, String)),
}

impl Trail<'_> {
    fn partition(self) -> String {
        match self {
            Self::Own((kind, id)) => compose(&[kind, id]),
            Self::HandedIn((kind, id)) => compose(&["HANDED_IN", kind, id]),
        }
    }
}

/// The table.
#[derive(Debug, Clone)]
pub struct Events {
    pub(crate) table: String,
    grace: Duration,
}

/// An event as it is stored. The payload is JSON text: nobody queries inside it, and text keeps it exact.
#[derive(Debug, Serialize)]
struct Row<'a> {
    event_id: EventId,
    event_type: String,
    aggregate_type: String,
    aggregate_id: String,
    aggregate: String,
    sequence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    occurred_at: Time,
    created_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<Trace>,
    payload: String,
    status: OutboxStatus,
    attempt_count: u32,
    unpublished: String,
    due_at: Time,
    destinations: Vec<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    destination_attributes: BTreeMap<&'static str, BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dataschema: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a Fingerprint>,
}

#[derive(Debug, Deserialize)]
struct ContentRow {
    content: Option<Fingerprint>,
}

/// An event of the past, as the history shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// Its id.
    pub event_id: EventId,
    /// The aggregate's version that it made, where versions order the aggregate's events.
    pub version: Option<u64>,
    /// What happened.
    pub event_type: String,
    /// When.
    pub occurred_at: Time,
    /// Whose command it was.
    pub actor: Option<String>,
    /// The type's own fields.
    pub payload: serde_json::Value,
}

#[derive(Debug, Deserialize)]
struct PastRow {
    event_id: EventId,
    sequence: String,
    event_type: String,
    occurred_at: Time,
    actor: Option<String>,
    payload: String,
}

#[derive(Debug, Deserialize)]
struct IdRow {
    event_id: EventId,
}

impl Events {
    /// The table of this name.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into(), grace: Duration::from_secs(60) }
    }

    /// The same, with another time for the stream to publish an entry before the sweeper looks at it.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// An event's place.
    pub fn key(&self, event_id: &EventId) -> Key {
        Key::new(&self.table, "event_id", event_id.as_str())
    }

    /// Stores an event as PENDING, if its id is new.
    pub fn put(&self, event: &Event) -> Result<Write, LedgerError> {
        Write::create(self.key(&event.event_id), to_item(&self.row(event, None)?)?)
    }

    /// Stores an event that a source handed in, with what tells it from another event of the same id.
    pub fn hand_in(&self, event: &Event, content: &Fingerprint) -> Result<Write, LedgerError> {
        Write::create(self.key(&event.event_id), to_item(&self.row(event, Some(content))?)?)
    }

    /// Whether the event that stands there was handed in with this content.
    pub fn is_same(&self, standing: &Item, content: &Fingerprint) -> Result<bool, Corrupt> {
        let row: ContentRow = from_item(&self.table, standing.clone())?;
        Ok(row.content.as_ref() == Some(content))
    }

    /// Reads an event out of an item of the table or an image of its stream.
    pub fn parse(&self, image: impl Into<serde_dynamo::Item>) -> Result<Event, Corrupt> {
        let row: StoredEvent = from_item(&self.table, image)?;
        let payload = serde_json::from_str(&row.payload).map_err(|error| Corrupt::new(&self.table, &error))?;
        Ok(Event {
            event_id: row.event_id,
            event_type: row.event_type,
            aggregate_type: row.aggregate_type,
            aggregate_id: row.aggregate_id,
            version: row.version,
            occurred_at: row.occurred_at,
            recorded_at: row.created_at,
            actor: row.actor,
            // A broken trace context is no reason to lose an event.
            traceparent: row.traceparent.as_deref().and_then(|text| Trace::parse(text).ok()),
            payload,
        })
    }

    /// Reads the id alone, out of an entry that need not be readable otherwise.
    pub fn parse_id(&self, keys: impl Into<serde_dynamo::Item>) -> Result<EventId, Corrupt> {
        Ok(from_item::<IdRow>(&self.table, keys)?.event_id)
    }

    /// One history of an aggregate, newest first, from behind `after` (sequence and event id of a row). One query of the
    /// index `by_aggregate`, which lags by moments: nothing is decided on it.
    pub async fn of_aggregate(
        &self,
        ledger: &Ledger,
        trail: Trail<'_>,
        limit: u16,
        after: Option<(&str, &str)>,
    ) -> Result<Page<Past>, LedgerError> {
        let aggregate = trail.partition();
        let start = after.map(|(sequence, event_id)| {
            let names = ["aggregate", "sequence", "event_id"].map(str::to_owned);
            names.into_iter().zip([text(&aggregate), text(sequence), text(event_id)]).collect()
        });
        let page = ledger
            .attempt(|| async {
                let request = ledger
                    .client
                    .query()
                    .table_name(&self.table)
                    .index_name("by_aggregate")
                    .key_condition_expression("#aggregate = :aggregate")
                    .expression_attribute_names("#aggregate", "aggregate")
                    .expression_attribute_values(":aggregate", text(&aggregate))
                    .set_exclusive_start_key(start.clone())
                    .scan_index_forward(false)
                    .limit(i32::from(limit));
                match request.send().await {
                    Ok(output) => Fate::Done((output.items.unwrap_or_default(), output.last_evaluated_key.is_some())),
                    Err(error) => fate(&error),
                }
            })
            .await?;
        let (items, more) = page;
        let rows: Vec<PastRow> =
            items.into_iter().map(|item| from_item(&self.table, item)).collect::<Result<_, _>>()?;
        let next = rows.last().filter(|_| more).map(|row| format!("{}#{}", row.sequence, row.event_id));
        let rows = rows.into_iter().map(|row| {
            let payload = serde_json::from_str(&row.payload).map_err(|error| Corrupt::new(&self.table, &error))?;
            Ok(Past {
                event_id: row.event_id,
                // What has no version is ordered by the clock, whose text is no number.
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

/// The part of a stored event that never changes.
#[derive(Debug, Deserialize)]
struct StoredEvent {
    event_id: EventId,
    event_type: String,
    aggregate_type: String,
    aggregate_id: String,
    version: Option<u64>,
    occurred_at: Time,
    created_at: Time,
    actor: Option<String>,
    traceparent: Option<String>,
    payload: String,
}

impl Events {
    fn row<'a>(&self, event: &'a Event, content: Option<&'a Fingerprint>) -> Result<Row<'a>, LedgerError> {
        let named = (event.aggregate_type.clone(), event.aggregate_id.clone());
        let aggregate = if content.is_none() { Trail::Own(&named) } else { Trail::HandedIn(&named) }.partition();
        let (aggregate_type, aggregate_id) = named;
        let routes = domain::routing::Routes::load().map_err(|problem| LedgerError::Unwritable(problem.to_string()))?;
        let queues: Vec<_> = routes.queues(&event.event_type, &event.payload).collect();
        Ok(Row {
            event_id: event.event_id.clone(),
            event_type: event.event_type.clone(),
            aggregate_type,
            aggregate_id,
            aggregate,
            // Versions order an aggregate's own events exactly; the clock orders what sources hand in.
            sequence: event.version.map_or_else(|| event.recorded_at.to_string(), |version| format!("{version:020}")),
            version: event.version,
            occurred_at: event.occurred_at,
            created_at: event.recorded_at,
            actor: event.actor.clone(),
            traceparent: event.traceparent.clone(),
            payload: serde_json::to_string(&event.payload)?,
            status: OutboxStatus::Pending,
            attempt_count: 0,
            unpublished: Shelf::Open.partition_of(&event.event_id),
            due_at: event.recorded_at.plus(self.grace),
            destinations: queues.iter().map(|queue| queue.name()).collect(),
            destination_attributes: queues
                .iter()
                .map(|queue| (queue.name(), queue.attributes(&event.payload)))
                .filter(|(_, attributes)| !attributes.is_empty())
                .collect(),
            dataschema: domain::schemas::id(&event.event_type),
            content,
        })
    }
}
