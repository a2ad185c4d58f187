//! Outbox entries as they are stored, and as operators see them.

use std::collections::{BTreeMap, BTreeSet};

use belfry_core::item::{AttributeValue, Index, from_item, text, text_of, to_item};
use belfry_core::{
    Corrupt, Event, EventId, Fingerprint, FoundItems, Item, OutboxStatus, Place, Timestamp, Trace, Unwritable, Write,
};
use serde::{Deserialize, Serialize};

use super::due::DuePartition;
use super::history::History;
use crate::tables::EVENTS;
use crate::{Belfry, Destination, Error};

/// A payload may have at most this many bytes: with its envelope it must fit into an SQS message, and with that into a dead
/// letter.
const MAX_PAYLOAD: usize = 192 * 1024;

/// An event and where it goes, as read from the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// The event.
    pub event: Event,
    /// The queues that it must reach, as the committing transaction decided. `None` if the entry does not say.
    pub destinations: Option<Vec<Destination>>,
    /// The URI of the payload's schema.
    pub dataschema: Option<String>,
}

/// An entry as it is stored. The payload is JSON text: nothing queries inside it, and text keeps it exact.
#[derive(Debug, Serialize)]
struct Row<'a> {
    event_id: &'a EventId,
    event_type: &'a str,
    aggregate_type: &'a str,
    aggregate_id: &'a str,
    aggregate: String,
    sequence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    occurred_at: Timestamp,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a Trace>,
    payload: String,
    status: OutboxStatus,
    attempt_count: u32,
    unpublished: String,
    due_at: Timestamp,
    destinations: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_attributes: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dataschema: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a Fingerprint>,
}

/// The parts of an entry that never change.
#[derive(Debug, Deserialize)]
struct StoredRow {
    event_id: EventId,
    event_type: String,
    aggregate_type: String,
    aggregate_id: String,
    version: Option<u64>,
    occurred_at: Timestamp,
    created_at: Timestamp,
    actor: Option<String>,
    traceparent: Option<String>,
    payload: String,
    dataschema: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ContentRow {
    content: Option<Fingerprint>,
}

/// The place of an event.
pub fn place(event_id: &EventId) -> Place {
    EVENTS.at(event_id.as_str())
}

/// The write that stores an event as PENDING, if its id is new.
pub(crate) fn entry(belfry: &Belfry, event: &Event, content: Option<&Fingerprint>) -> Result<Write, Error> {
    let payload = serde_json::to_string(&event.payload).map_err(Unwritable::from)?;
    if payload.len() > MAX_PAYLOAD {
        let (event_type, bytes) = (&event.event_type, payload.len());
        let problem = format!("{event_type}: payload of {bytes} bytes; at most {MAX_PAYLOAD}");
        return Err(Unwritable(problem).into());
    }
    let destinations = belfry.0.routes.destinations(event);
    let with_attributes = destinations.iter().filter(|destination| !destination.attributes.is_empty());
    let attributes: Item = with_attributes
        .map(|Destination { queue, attributes }| {
            let attributes = attributes.iter().map(|(name, value)| (name.clone(), text(value))).collect();
            (queue.clone(), AttributeValue::M(attributes))
        })
        .collect();
    let aggregate = (event.aggregate_type.as_str(), event.aggregate_id.as_str());
    let history = if content.is_none() { History::Own(aggregate) } else { History::Ingested(aggregate) };
    let row = Row {
        event_id: &event.event_id,
        event_type: &event.event_type,
        aggregate_type: &event.aggregate_type,
        aggregate_id: &event.aggregate_id,
        aggregate: history.partition(),
        // Versions order the events of an aggregate exactly; the clock orders those of other sources.
        sequence: event.version.map_or_else(|| event.recorded_at.to_string(), |version| format!("{version:020}")),
        version: event.version,
        occurred_at: event.occurred_at,
        created_at: event.recorded_at,
        actor: event.actor.as_deref(),
        traceparent: event.traceparent.as_ref(),
        payload,
        status: OutboxStatus::Pending,
        attempt_count: 0,
        unpublished: DuePartition::Open.of(&event.event_id),
        due_at: event.recorded_at.plus(belfry.0.config.stream_grace),
        destinations: destinations.iter().map(|destination| destination.queue.as_str()).collect(),
        destination_attributes: None,
        dataschema: belfry.0.routes.dataschema(&event.event_type),
        content,
    };
    let mut item = to_item(&row)?;
    if !attributes.is_empty() {
        item.insert("destination_attributes".to_owned(), AttributeValue::M(attributes));
    }
    Ok(Write::create(place(&event.event_id), item))
}

/// The write that stores an event of another system under the id that it has there. `content` tells a repetition from
/// another event with the same id; see [`ingested_content`].
pub fn ingest(belfry: &Belfry, event: &Event, content: &Fingerprint) -> Result<Write, Error> {
    entry(belfry, event, Some(content))
}

/// The content with which an entry was ingested, if it was.
pub fn ingested_content(item: &Item) -> Result<Option<Fingerprint>, Corrupt> {
    Ok(from_item::<ContentRow>(EVENTS.name, item.clone())?.content)
}

/// Reads an event and its destinations from an item of the table or an image of its stream.
pub(crate) fn read_stored(item: &Item) -> Result<StoredEvent, Corrupt> {
    let row: StoredRow = from_item(EVENTS.name, item.clone())?;
    let payload = serde_json::from_str(&row.payload).map_err(|error| Corrupt::new(EVENTS.name, &error))?;
    let event = Event {
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
    };
    Ok(StoredEvent { event, destinations: destinations(item), dataschema: row.dataschema })
}

/// Reads the id alone, from an entry that may be unreadable otherwise.
pub(crate) fn read_id(keys: &Item) -> Option<EventId> {
    EventId::parse(text_of(keys, "event_id")?).ok()
}

/// The destinations of an entry: a list or a set of queue names. Anything else is not understood.
fn destinations(item: &Item) -> Option<Vec<Destination>> {
    let queues: Vec<String> = match item.get("destinations")? {
        AttributeValue::Ss(queues) => queues.clone(),
        AttributeValue::L(queues) => queues
            .iter()
            .map(|queue| match queue {
                AttributeValue::S(queue) => Some(queue.clone()),
                _ => None,
            })
            .collect::<Option<_>>()?,
        _ => return None,
    };
    let attributes = |queue: &str| match item.get("destination_attributes") {
        Some(AttributeValue::M(all)) => match all.get(queue) {
            Some(AttributeValue::M(own)) => {
                own.keys().filter_map(|name| Some((name.clone(), text_of(own, name)?.to_owned()))).collect()
            }
            _ => BTreeMap::new(),
        },
        _ => BTreeMap::new(),
    };
    Some(queues.into_iter().map(|queue| Destination { attributes: attributes(&queue), queue }).collect())
}

/// The queues that have an event already.
pub(crate) fn delivered_to(item: &Item) -> BTreeSet<String> {
    match item.get("delivered_to") {
        Some(AttributeValue::Ss(queues)) => queues.iter().cloned().collect(),
        _ => BTreeSet::new(),
    }
}

/// How many attempts to publish an entry have counted.
pub(crate) fn attempt_count(item: &Item) -> u32 {
    text_of(item, "attempt_count").and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// An outbox entry as an operator sees it: as much of it as can be read, because the unreadable ones are what they look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: Option<String>,
    /// The type of its aggregate.
    pub aggregate_type: Option<String>,
    /// The id of its aggregate.
    pub aggregate_id: Option<String>,
    /// Its status; FAILED if the stored one cannot be read.
    pub status: OutboxStatus,
    /// How many attempts to publish it have counted.
    pub attempt_count: u32,
    /// When it is tried again after a failure.
    pub next_retry_at: Option<Timestamp>,
    /// The last failure.
    pub last_error: Option<String>,
    /// When that was.
    pub last_error_at: Option<Timestamp>,
    /// When it was committed.
    pub created_at: Option<Timestamp>,
    /// When the last queue acknowledged it.
    pub published_at: Option<Timestamp>,
    /// The sweeper's claim.
    pub locked_by: Option<String>,
    /// Since when it is claimed.
    pub locked_at: Option<Timestamp>,
    /// When the claim ends.
    pub lease_until: Option<Timestamp>,
    /// Who caused it.
    pub actor: Option<String>,
    /// The trace that it belongs to.
    pub trace: Option<Trace>,
}

impl OutboxEntry {
    /// Reads an item.
    pub fn read(event_id: &EventId, item: &Item) -> Self {
        let text = |name: &str| text_of(item, name).map(str::to_owned);
        let time = |name: &str| Timestamp::parse(text_of(item, name)?).ok();
        Self {
            event_id: event_id.clone(),
            event_type: text("event_type"),
            aggregate_type: text("aggregate_type"),
            aggregate_id: text("aggregate_id"),
            status: text_of(item, "status").and_then(OutboxStatus::parse).unwrap_or(OutboxStatus::Failed),
            attempt_count: attempt_count(item),
            next_retry_at: time("next_retry_at"),
            last_error: text("last_error"),
            last_error_at: time("last_error_at"),
            created_at: time("created_at"),
            published_at: time("published_at"),
            locked_by: text("locked_by"),
            locked_at: time("locked_at"),
            lease_until: time("lease_until"),
            actor: text("actor"),
            trace: text_of(item, "traceparent").and_then(|text| Trace::parse(text).ok()),
        }
    }

    /// The entry of an event among items that were read.
    pub fn among(found: &FoundItems, event_id: &EventId) -> Option<Self> {
        found.0.get(&place(event_id)).map(|item| Self::read(event_id, item))
    }
}

impl Belfry {
    /// Reads an event from the outbox. The error says why the entry cannot be read.
    pub async fn stored_event(&self, event_id: &EventId) -> Result<Option<Result<StoredEvent, Corrupt>>, Error> {
        Ok(self.get_item(&place(event_id)).await?.map(|item| read_stored(&item)))
    }
}

/// The key attributes from which a query of this index continues after an item.
pub(crate) fn start_of(index: &Index, hash: &str, range: &str, event_id: &str) -> Item {
    let range_name = index.range.map_or("", |attribute| attribute.name);
    [(index.hash.name, hash), (range_name, range), ("event_id", event_id)]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), text(value)))
        .collect()
}
