//! Table of events: outbox entry and audit entry in one item.
//!
//! The key is the event's id, so handing an event in twice is one conditional put. `by_aggregate` serves the
//! history; `unpublished` is sparse, holds only what is not yet published and is spread over partitions, so that
//! no single one takes all writes.

use domain::event::OutboxStatus;
use domain::id::compose;
use domain::{Event, EventId, Time};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::attempt::{Fate, fate};
use crate::commit::Write;
use crate::error::{Corrupt, LedgerError};
use crate::item::{Key, from_item, number, text, to_item};
use crate::read::Page;

/// How many partitions the index of unpublished entries is spread over.
pub const UNPUBLISHED_PARTITIONS: u32 = 8;

/// How long the stream has to publish an entry before the sweeper looks at it.
const STREAM_GRACE: std::time::Duration = std::time::Duration::from_secs(60);

/// The table.
#[derive(Debug, Clone)]
pub struct Events {
    table: String,
}

/// An event as it is stored. The payload is JSON text: nobody queries inside it, and text keeps it exact.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
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
    traceparent: Option<String>,
    payload: String,
    status: OutboxStatus,
    attempt_count: u32,
    unpublished: String,
    due_at: Time,
}

/// The part of an entry that tells whether it still has to be published.
#[derive(Debug, Deserialize)]
struct StatusRow {
    status: OutboxStatus,
}

/// An event of the past, as the history shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// What happened.
    pub event_type: String,
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
        Self { table: table.into() }
    }

    /// An event's place.
    pub fn key(&self, event_id: &EventId) -> Key {
        Key::new(&self.table, "event_id", event_id.as_str())
    }

    /// Stores an event as PENDING, if its id is new.
    pub fn put(&self, event: &Event) -> Result<Write, LedgerError> {
        Write::create(self.key(&event.event_id), to_item(&row(event)?)?)
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
            traceparent: row.traceparent,
            payload,
        })
    }

    /// Reads the id alone, out of an entry that need not be readable otherwise.
    pub fn parse_id(&self, keys: impl Into<serde_dynamo::Item>) -> Result<EventId, Corrupt> {
        Ok(from_item::<IdRow>(&self.table, keys)?.event_id)
    }

    /// The events of an aggregate, newest first, from behind `after` (sequence and event id of a row). One query of the
    /// index `by_aggregate`, which lags by moments: nothing is decided on it.
    pub async fn of_aggregate(
        &self,
        ledger: &Ledger,
        (aggregate_type, aggregate_id): &(String, String),
        limit: u16,
        after: Option<(&str, &str)>,
    ) -> Result<Page<Past>, LedgerError> {
        let aggregate = compose(&[aggregate_type, aggregate_id]);
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
            Ok(Past { event_type: row.event_type, actor: row.actor, payload })
        });
        Ok(Page { rows: rows.collect::<Result<_, Corrupt>>()?, next })
    }

    /// Which of these entries are published already, read consistently.
    pub async fn published(&self, ledger: &Ledger, event_ids: &[EventId]) -> Result<Vec<bool>, LedgerError> {
        let keys: Vec<Key> = event_ids.iter().map(|id| self.key(id)).collect();
        let mut distinct = keys.clone();
        distinct.sort_by(|a, b| a.hash.1.cmp(&b.hash.1));
        distinct.dedup();
        let found = ledger.get_all(&distinct).await?;
        let is_published = |key: &Key| match found.get(key) {
            // An entry that is gone has been published and has outlived its retention.
            None => true,
            // A status that this build cannot read is not known to be PUBLISHED: at worst a second message.
            Some(item) => {
                from_item::<StatusRow>(&self.table, item.clone()).is_ok_and(|row| row.status == OutboxStatus::Published)
            }
        };
        Ok(keys.iter().map(is_published).collect())
    }

    /// Marks an entry PUBLISHED: every subscribed queue has acknowledged it. It leaves the index of unpublished
    /// entries and from now on expires. Marking it again changes nothing.
    pub async fn mark_published(
        &self,
        ledger: &Ledger,
        event_id: &EventId,
        now: Time,
        expires: Time,
    ) -> Result<(), LedgerError> {
        let update = "SET #status = :published, published_at = :now, expires_at = :expires REMOVE unpublished, due_at";
        let values =
            [(":published", text("PUBLISHED")), (":now", text(now)), (":expires", number(expires.as_seconds()))];
        self.update_unpublished(ledger, event_id, update, &values).await
    }

    /// Marks an entry FAILED with the reason: it cannot be published as it stands, and is an operator's case.
    pub async fn mark_failed(
        &self,
        ledger: &Ledger,
        event_id: &EventId,
        now: Time,
        reason: &str,
    ) -> Result<(), LedgerError> {
        let update = "SET #status = :failed, last_error = :reason, due_at = :now, unpublished = :partition";
        let values = [
            (":failed", text("FAILED")),
            (":reason", text(reason)),
            (":now", text(now)),
            (":partition", text(compose(&["FAILED", &partition(event_id).to_string()]))),
        ];
        self.update_unpublished(ledger, event_id, update, &values).await
    }

    async fn update_unpublished(
        &self,
        ledger: &Ledger,
        event_id: &EventId,
        update: &str,
        values: &[(&str, aws_sdk_dynamodb::types::AttributeValue)],
    ) -> Result<(), LedgerError> {
        ledger
            .attempt(|| async {
                let mut request = ledger
                    .client
                    .update_item()
                    .table_name(&self.table)
                    .set_key(Some(self.key(event_id).attributes()))
                    .update_expression(update)
                    .condition_expression("attribute_exists(event_id) AND #status <> :done")
                    .expression_attribute_names("#status", "status")
                    .expression_attribute_values(":done", text("PUBLISHED"));
                for (name, value) in values {
                    request = request.expression_attribute_values(*name, value.clone());
                }
                match request.send().await {
                    Ok(_) => Fate::Done(()),
                    Err(error)
                        if error.as_service_error().is_some_and(|e| e.is_conditional_check_failed_exception()) =>
                    {
                        Fate::Done(())
                    }
                    Err(error) => fate(&error),
                }
            })
            .await
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

fn row(event: &Event) -> Result<Row, LedgerError> {
    Ok(Row {
        event_id: event.event_id.clone(),
        event_type: event.event_type.clone(),
        aggregate_type: event.aggregate_type.clone(),
        aggregate_id: event.aggregate_id.clone(),
        aggregate: compose(&[&event.aggregate_type, &event.aggregate_id]),
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
        unpublished: compose(&["OPEN", &partition(&event.event_id).to_string()]),
        due_at: event.recorded_at.plus(STREAM_GRACE),
    })
}

/// FNV-1a over the id: any spread will do, it must only be the same everywhere.
fn partition(event_id: &EventId) -> u32 {
    let hash = event_id
        .as_str()
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % UNPUBLISHED_PARTITIONS
}
