//! Table of group reads: which event notifications somebody has read for their group.
//!
//! Each event notification says the same in `read_by`. But an inbox has to know it of every shared row that its
//! recipient has not read, and with colleagues who read first that is nearly all of them: here it is one query of small
//! items, from the oldest such row on, where it would be a get of each event notification with all of its texts.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::id::compose;
use domain::notification::EventNotification;
use domain::{Audience, EventId, Time};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::commit::Write;
use crate::error::LedgerError;
use crate::item::{Key, expiry, from_item, to_item};
use crate::read::Query;

/// How many reads one query asks for; what is left of a MiB of answer ends it sooner.
const PAGE: u16 = 10_000;

/// The table, and how long its items are kept.
#[derive(Debug, Clone)]
pub struct GroupReads {
    table: String,
    retention: Option<Duration>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    audience_group: String,
    /// When the event was recorded, and its id: sorts as the notifications do.
    read_event: String,
    event_id: EventId,
}

impl GroupReads {
    /// The table of this name; without a retention nothing expires.
    pub fn new(table: impl Into<String>, retention: Option<Duration>) -> Self {
        Self { table: table.into(), retention }
    }

    fn partition(&self, audience: Audience, group: &str) -> Key {
        Key::new(&self.table, "audience_group", compose(&[audience.as_str(), group]))
    }

    /// Stores that the group has read this. It needs no condition: the event notification, which is changed in the same
    /// transaction, has it.
    pub fn put(&self, told: &EventNotification, now: Time) -> Result<Write, LedgerError> {
        let read_event = format!("{}#{}", told.created_at, told.event_id);
        let key = self.partition(told.audience, &told.group).and("read_event", read_event.as_str());
        let row = Row { audience_group: key.hash.1.clone(), read_event, event_id: told.event_id.clone() };
        let mut item = to_item(&row)?;
        item.extend(expiry(now, self.retention));
        Write::replace(key, item)
    }

    /// Which of the events recorded at `since` or later the group has read. One round trip per MiB.
    pub async fn since(
        &self,
        ledger: &Ledger,
        (audience, group): (Audience, &str),
        since: Time,
    ) -> Result<BTreeSet<EventId>, LedgerError> {
        // The bare time sorts before everything that was recorded at it.
        let mut after = since.to_string();
        let mut read = BTreeSet::new();
        loop {
            let partition = self.partition(audience, group);
            let query = Query { partition, sort: "read_event", after: Some(&after), descending: false, limit: PAGE };
            let page = ledger.query(&query).await?;
            for item in page.rows {
                read.insert(from_item::<Row>(&self.table, item)?.event_id);
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(read),
            }
        }
    }
}
