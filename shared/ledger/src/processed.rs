//! Table of processed marks: (consumer, event), written in the transaction of the consumer's effect.

use std::time::Duration;

use domain::id::compose;
use domain::{EventId, Time};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::commit::Write;
use crate::error::{Corrupt, LedgerError};
use crate::item::{Key, from_item, to_item};
use crate::read::Found;

/// The table, and how long its marks live.
#[derive(Debug, Clone)]
pub struct Processed {
    table: String,
    retention: Duration,
}

#[derive(Serialize)]
struct Row<'a> {
    consumer_event: &'a str,
    consumer: &'a str,
    event_id: &'a EventId,
    source_queue: &'a str,
    processed_at: Time,
    expires_at: i64,
}

/// That a consumer has processed an event.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Mark {
    /// The consumer.
    pub consumer: String,
    /// The queue that the event came from.
    pub source_queue: String,
    /// When.
    pub processed_at: Time,
}

impl Processed {
    /// The table of this name. Marks must outlive dead letters plus the time to redrive them.
    pub fn new(table: impl Into<String>, retention: Duration) -> Self {
        Self { table: table.into(), retention }
    }

    /// A mark's place.
    pub fn key(&self, consumer: &str, event_id: &EventId) -> Key {
        Key::new(&self.table, "consumer_event", compose(&[consumer, event_id.as_str()]))
    }

    /// Whether a consumer has processed an event, as it stands now.
    pub async fn is_marked(&self, ledger: &Ledger, consumer: &str, event_id: &EventId) -> Result<bool, LedgerError> {
        Ok(ledger.get(&self.key(consumer, event_id)).await?.is_some())
    }

    /// The marks of an event among the items that were found.
    pub fn among(&self, found: &Found, key: &Key) -> Result<Option<Mark>, Corrupt> {
        found.get(key).map(|item| from_item(&self.table, item.clone())).transpose()
    }

    /// Marks an event as processed by a consumer, if it is not yet.
    pub fn mark(
        &self,
        consumer: &str,
        event_id: &EventId,
        source_queue: &str,
        now: Time,
    ) -> Result<Write, LedgerError> {
        let key = self.key(consumer, event_id);
        let row = Row {
            consumer_event: &key.hash.1,
            consumer,
            event_id,
            source_queue,
            processed_at: now,
            // TTL deletes what lies before now: one second more, and a mark of exactly the retention's age stays.
            expires_at: now.plus(self.retention).as_seconds() + 1,
        };
        let item = to_item(&row)?;
        Write::create(key, item)
    }
}
