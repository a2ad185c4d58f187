//! Table of channel sends: one item per notification and channel.
//!
//! The key is (event and part, notification and channel): the sends of an event are found without an index, and a large
//! audience is spread over partitions. The sparse index `due` holds what is not at its end, by shelf and by when a
//! sweeper is to look at it; it only finds candidates, the version decides.

use std::collections::HashSet;
use std::ops::Deref;
use std::time::Duration;

use belfry_core::Entity;
use domain::recipient::Channel;
pub use domain::send::SendDuePartition;
use domain::send::{ChannelSend, SendId};
use domain::{EventId, Time};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Ledger;
use crate::aggregates::{Aggregate, Aggregates};
use crate::commit::{Change, Outcome, Write};
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, expiry, from_item, text};
use crate::read::{DueQuery, Page, Query};

/// How much later a sweeper looks again at a send that cannot be read.
const STEP_BACK: Duration = Duration::from_secs(3_600);

/// The table, and how long a send is kept once it is at its end.
#[derive(Debug, Clone)]
pub struct Sends {
    table: Aggregates<Versioned>,
    retention: Option<Duration>,
}

/// A send with its version, for what still runs on the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Versioned {
    /// The send.
    #[serde(flatten)]
    pub send: ChannelSend,
    /// Its version.
    pub version: u64,
}

impl Deref for Versioned {
    type Target = ChannelSend;

    fn deref(&self) -> &ChannelSend {
        &self.send
    }
}

impl Versioned {
    /// The next version of the send.
    #[must_use]
    pub fn becomes(&self, send: ChannelSend) -> Self {
        Self { send, version: self.version + 1 }
    }
}

/// What the index holds of a send.
#[derive(Deserialize)]
struct Due {
    event_part: String,
    send: String,
    due_at: String,
}

impl Aggregate for Versioned {
    type Id = SendId;

    fn key(table: &str, id: &SendId) -> Key {
        place(table, &id.event_id, id.notification_id, id.channel)
    }

    fn id(&self) -> SendId {
        self.send.id.clone()
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn indexed(&self) -> Item {
        let attributes = Entity::index_attributes(&self.send).into_iter();
        let attributes = attributes.filter_map(|(name, value)| match value {
            belfry_core::AttributeValue::S(value) => Some((name, text(value))),
            _ => None,
        });
        Self::key("", &self.send.id).attributes().into_iter().chain(attributes).collect()
    }
}

fn place(table: &str, event_id: &EventId, notification_id: Uuid, channel: Channel) -> Key {
    let key = SendId::key(event_id, notification_id, channel);
    let send = key.range.map(|range| range.to_string()).unwrap_or_default();
    Key::new(table, "event_part", key.hash.to_string()).and("send", send)
}

impl Sends {
    /// The table of this name; without a retention nothing expires.
    pub fn new(table: impl Into<String>, retention: Option<Duration>) -> Self {
        Self { table: Aggregates::new(table), retention }
    }

    /// A send's place.
    pub fn key(&self, id: &SendId) -> Key {
        self.table.key(id)
    }

    /// The send among the items that were found.
    pub fn among(&self, found: &crate::Found, id: &SendId) -> Result<Option<Versioned>, Corrupt> {
        self.table.among(found, id)
    }

    /// The send, as it stands now.
    pub async fn get(&self, ledger: &Ledger, id: &SendId) -> Result<Option<Versioned>, LedgerError> {
        self.table.get(ledger, id).await
    }

    /// Stores a send, if the one before it is what stands there. From its end on it expires.
    pub fn put(&self, send: &Versioned) -> Result<Write, LedgerError> {
        let expires = send.state.ended_at().and_then(|ended_at| expiry(ended_at, self.retention));
        self.table.put_with(send, expires)
    }

    /// Stores a send alone; says whether the one before it was what stood there.
    pub async fn store(&self, ledger: &Ledger, send: &Versioned) -> Result<bool, LedgerError> {
        Ok(matches!(ledger.commit(&[self.put(send)?]).await?, Outcome::Committed))
    }

    /// Reads a send's order from a stream record's image.
    pub fn parse(&self, item: impl Into<serde_dynamo::Item>) -> Result<ChannelSend, Corrupt> {
        from_item(self.table.table(), item)
    }

    /// Whether a stream record is one of this table, by its key.
    pub fn is_key(keys: &serde_dynamo::Item) -> bool {
        keys.contains_key("event_part")
    }

    /// The sends of these notifications, those of each in the order of the channels.
    pub async fn of_notifications<'a>(
        &self,
        ledger: &Ledger,
        notifications: impl Iterator<Item = (&'a EventId, Uuid)>,
    ) -> Result<Vec<ChannelSend>, LedgerError> {
        let of_one = |(event_id, id): (&EventId, Uuid)| {
            Channel::SENT.map(|channel| place(self.table.table(), event_id, id, channel))
        };
        let keys: Vec<Key> = notifications.flat_map(of_one).collect();
        let found = ledger.get_all(&keys).await?;
        let found = keys.iter().filter_map(|key| found.get(key));
        Ok(found.map(|item| self.parse(item.clone())).collect::<Result<_, _>>()?)
    }

    /// The sends of one event, at most `limit` of each part, and whether there are more.
    pub async fn of_event(
        &self,
        ledger: &Ledger,
        event_id: &EventId,
        limit: u16,
    ) -> Result<(Vec<ChannelSend>, bool), LedgerError> {
        let queries = SendId::partitions(event_id).map(|partition| async move {
            let partition = Key::new(self.table.table(), "event_part", partition);
            ledger.query(&Query { partition, sort: "send", after: None, descending: false, limit }).await
        });
        let pages: Vec<Page<Item>> = try_join_all(queries).await?;
        let more = pages.iter().any(|page| page.next.is_some());
        let rows = pages.into_iter().flat_map(|page| page.rows).map(|item| self.parse(item));
        Ok((rows.collect::<Result<_, _>>()?, more))
    }

    /// At most `limit` sends for sweepers, those whose time has come by `until`, the longest overdue first, as they stand
    /// now. A query per partition.
    pub async fn due(&self, ledger: &Ledger, until: Time, limit: u16) -> Result<Vec<Versioned>, LedgerError> {
        let due = self.places(ledger, &SendDuePartition::SWEPT, Some(until), limit).await?;
        let sends = self.read(ledger, due).await?;
        // The index lags: what it lists may have come to its end since, or another sweeper may have sent for it, or it may
        // have been claimed: whoever has claimed it records nothing once somebody else has changed it.
        Ok(sends.into_iter().filter(|send| is_swept(send) && send.due_at <= until).collect())
    }

    /// At most `limit` sends that are stuck, as they stand now.
    pub async fn stuck(&self, ledger: &Ledger, limit: u16) -> Result<Vec<Versioned>, LedgerError> {
        let stuck = self.places(ledger, &[SendDuePartition::Stuck], None, limit).await?;
        Ok(self.read(ledger, stuck).await?.into_iter().filter(|send| send.is_stuck()).collect())
    }

    /// How many sends of a shelf are due by then, counted up to `most`; without a time, all of them.
    pub async fn count_due(
        &self,
        ledger: &Ledger,
        (shelf, until): (SendDuePartition, Option<Time>),
        most: u16,
    ) -> Result<usize, LedgerError> {
        Ok(self.places(ledger, &[shelf], until, most).await?.len())
    }

    async fn places(
        &self,
        ledger: &Ledger,
        shelves: &[SendDuePartition],
        until: Option<Time>,
        limit: u16,
    ) -> Result<Vec<Due>, LedgerError> {
        let partitions: Vec<String> = shelves.iter().flat_map(|shelf| shelf.all()).collect();
        // `~` sorts behind everything that a time begins with.
        let high = until.map_or_else(|| "~".to_owned(), |until| until.to_string());
        let queries = partitions.iter().map(|partition| {
            ledger.due(DueQuery { table: self.table.table(), index: ("due", partition), between: ("0", &high), limit })
        });
        let items = try_join_all(queries).await?.into_iter().flatten();
        let due = items.map(|item| from_item::<Due>(self.table.table(), item));
        Ok(soonest(due.collect::<Result<_, _>>()?, limit))
    }

    /// The sends at these places. One that cannot be read must not keep the others from being swept: it steps back.
    async fn read(&self, ledger: &Ledger, due: Vec<Due>) -> Result<Vec<Versioned>, LedgerError> {
        let keys: Vec<Key> = due.iter().map(|due| self.place(due)).collect();
        let found = ledger.get_all(&keys).await?;
        let mut sends = Vec::with_capacity(due.len());
        for (key, due) in keys.iter().zip(&due) {
            match found.get(key).map(|item| self.table.parse(item.clone())) {
                None => {}
                Some(Ok(send)) => sends.push(send),
                Some(Err(error)) => {
                    tracing::error!(event_part = due.event_part, send = due.send, %error, "send cannot be read");
                    self.step_back(ledger, key, due).await?;
                }
            }
        }
        Ok(sends)
    }

    /// Moves a send that cannot be read from the front of the index, where it would stand for ever.
    async fn step_back(&self, ledger: &Ledger, key: &Key, due: &Due) -> Result<(), LedgerError> {
        let change = Change {
            expression: "SET due_at = :later".to_owned(),
            condition: "due_at = :seen".to_owned(),
            values: vec![(":later", text(Time::now().plus(STEP_BACK))), (":seen", text(due.due_at.as_str()))],
        };
        ledger.change(key, &change).await.map(drop)
    }

    fn place(&self, due: &Due) -> Key {
        Key::new(self.table.table(), "event_part", due.event_part.as_str()).and("send", due.send.as_str())
    }
}

fn is_swept(send: &ChannelSend) -> bool {
    SendDuePartition::of(send).is_some_and(|shelf| SendDuePartition::SWEPT.contains(&shelf))
}

/// The first of several partitions together. A send that changes its shelf between two queries is found by both.
fn soonest(mut due: Vec<Due>, limit: u16) -> Vec<Due> {
    due.sort_by(|a, b| a.due_at.cmp(&b.due_at));
    let mut seen = HashSet::new();
    due.retain(|due| seen.insert((due.event_part.clone(), due.send.clone())));
    due.truncate(limit.into());
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_that_two_queries_found_is_read_once_and_the_soonest_come_first() {
        let due = |send: &str, due_at: &str| Due {
            event_part: "e#0".to_owned(),
            send: send.to_owned(),
            due_at: due_at.to_owned(),
        };
        let found = vec![due("c", "3"), due("a", "2"), due("b", "4"), due("a", "1")];
        let soonest: Vec<String> = soonest(found, 2).into_iter().map(|due| due.send).collect();
        assert_eq!(soonest, ["a", "c"]);
    }
}
