//! Table of channel sends: one item per notification and channel.
//!
//! The key is (event and part, notification and channel): the sends of an event are found without an index, and a large
//! audience is spread over partitions. The sparse index `due` holds what is not at its end, by shelf and by when a
//! sweeper is to look at it; it only finds candidates, the version decides.

use std::time::Duration;

use domain::id::compose;
use domain::recipient::Channel;
use domain::send::{ChannelSend, SendOrder};
use domain::{EventId, Time};
use futures_util::future::try_join_all;
use serde::Deserialize;
use uuid::Uuid;

use crate::Ledger;
use crate::aggregates::{Aggregate, Aggregates};
use crate::commit::{Outcome, Write};
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, expiry, from_item, spread, text};
use crate::read::{DueQuery, Page, Query};

/// How many partitions the sends of one event, and each shelf of the index, are spread over.
const SPREAD: u32 = 8;

/// The table, and how long a send is kept once it is at its end.
#[derive(Debug, Clone)]
pub struct Sends {
    table: Aggregates<ChannelSend>,
    retention: Option<Duration>,
}

/// A part of the index of sends that are not at their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// PENDING, PROCESSING, or UNCERTAIN and to be sent again.
    Open,
    /// UNCERTAIN and held for an operator; since it was written.
    Held,
}

impl Shelf {
    /// Whether a send lies on it.
    fn holds(self, send: &ChannelSend) -> bool {
        send.state.ended_at().is_none() && send.state.is_given_up() == (self == Self::Held)
    }

    fn partition(self, spread: u32) -> String {
        let shelf = match self {
            Self::Open => "OPEN",
            Self::Held => "HELD",
        };
        compose(&[shelf, &spread.to_string()])
    }
}

/// What the index holds of a send.
#[derive(Deserialize)]
struct Due {
    event_part: String,
    send: String,
    due_at: String,
}

impl Aggregate for ChannelSend {
    type Id = SendOrder;

    fn key(table: &str, order: &SendOrder) -> Key {
        place(table, &order.event_id, order.notification_id, order.channel)
    }

    fn id(&self) -> SendOrder {
        self.order.clone()
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn indexed(&self) -> Item {
        let mut indexed = Self::key("", &self.order).attributes();
        let shelf = spread(&self.order.notification_id.to_string(), SPREAD);
        if self.state.ended_at().is_none() {
            let (shelf, due_at) = match self.state.is_given_up() {
                false => (Shelf::Open.partition(shelf), self.due_at),
                true => (Shelf::Held.partition(shelf), self.created_at),
            };
            // The text of a due time is fixed in its width, so that it sorts as the times do.
            indexed.insert("due".to_owned(), text(shelf));
            indexed.insert("due_at".to_owned(), text(due_at));
        }
        indexed
    }
}

fn place(table: &str, event_id: &EventId, notification_id: Uuid, channel: Channel) -> Key {
    let id = notification_id.to_string();
    partition(table, event_id, spread(&id, SPREAD)).and("send", compose(&[&id, channel.as_str()]))
}

fn partition(table: &str, event_id: &EventId, part: u32) -> Key {
    Key::new(table, "event_part", compose(&[event_id.as_str(), &part.to_string()]))
}

impl Sends {
    /// The table of this name; without a retention nothing expires.
    pub fn new(table: impl Into<String>, retention: Option<Duration>) -> Self {
        Self { table: Aggregates::new(table), retention }
    }

    /// A send's place.
    pub fn key(&self, order: &SendOrder) -> Key {
        self.table.key(order)
    }

    /// The send among the items that were found.
    pub fn among(&self, found: &crate::Found, order: &SendOrder) -> Result<Option<ChannelSend>, Corrupt> {
        self.table.among(found, order)
    }

    /// The send, as it stands now.
    pub async fn get(&self, ledger: &Ledger, order: &SendOrder) -> Result<Option<ChannelSend>, LedgerError> {
        self.table.get(ledger, order).await
    }

    /// Stores a send, if the one before it is what stands there. From its end on it expires.
    pub fn put(&self, send: &ChannelSend) -> Result<Write, LedgerError> {
        let expires = send.state.ended_at().and_then(|ended_at| expiry(ended_at, self.retention));
        self.table.put_with(send, expires)
    }

    /// Stores a send alone; says whether the one before it was what stood there.
    pub async fn store(&self, ledger: &Ledger, send: &ChannelSend) -> Result<bool, LedgerError> {
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
        Ok(found.map(|item| self.table.parse(item.clone())).collect::<Result<_, _>>()?)
    }

    /// The sends of one event, at most `limit` of each part, and whether there are more.
    pub async fn of_event(
        &self,
        ledger: &Ledger,
        event_id: &EventId,
        limit: u16,
    ) -> Result<(Vec<ChannelSend>, bool), LedgerError> {
        let queries = (0..SPREAD).map(|part| async move {
            let partition = partition(self.table.table(), event_id, part);
            ledger.query(&Query { partition, sort: "send", after: None, descending: false, limit }).await
        });
        let pages: Vec<Page<Item>> = try_join_all(queries).await?;
        let more = pages.iter().any(|page| page.next.is_some());
        let rows = pages.into_iter().flat_map(|page| page.rows).map(|item| self.table.parse(item));
        Ok((rows.collect::<Result<_, _>>()?, more))
    }

    /// At most `limit` sends of a shelf whose time has come, the longest overdue first, as they stand now. A query per
    /// partition.
    pub async fn due(
        &self,
        ledger: &Ledger,
        (shelf, until): (Shelf, Time),
        limit: u16,
    ) -> Result<Vec<ChannelSend>, LedgerError> {
        let due = self.places(ledger, (shelf, until), limit).await?;
        let keys: Vec<Key> = due.iter().map(|due| self.place(due)).collect();
        let found = ledger.get_all(&keys).await?;
        let sends = keys.iter().filter_map(|key| found.get(key)).map(|item| self.table.parse(item.clone()));
        // One that cannot be read must not keep the others from being swept.
        let sends =
            sends.filter_map(|send| send.inspect_err(|error| tracing::error!(%error, "send cannot be read")).ok());
        // The index lags: what it lists may have come to its end since, or may have been claimed, and whoever has claimed
        // it records nothing once somebody else has changed it.
        let is_due = |send: &ChannelSend| shelf.holds(send) && (shelf == Shelf::Held || send.due_at <= until);
        Ok(sends.filter(is_due).collect())
    }

    /// How many sends of a shelf are due by then.
    pub async fn count_due(&self, ledger: &Ledger, (shelf, until): (Shelf, Time)) -> Result<usize, LedgerError> {
        Ok(self.places(ledger, (shelf, until), u16::MAX).await?.len())
    }

    async fn places(
        &self,
        ledger: &Ledger,
        (shelf, until): (Shelf, Time),
        limit: u16,
    ) -> Result<Vec<Due>, LedgerError> {
        let partitions: Vec<String> = (0..SPREAD).map(|spread| shelf.partition(spread)).collect();
        let high = until.to_string();
        let queries = partitions.iter().map(|partition| {
            ledger.due(DueQuery { table: self.table.table(), index: ("due", partition), between: ("0", &high), limit })
        });
        let items = try_join_all(queries).await?.into_iter().flatten();
        let due = items.map(|item| from_item::<Due>(self.table.table(), item));
        let mut due: Vec<Due> = due.collect::<Result<_, _>>()?;
        due.sort_by(|a, b| a.due_at.cmp(&b.due_at));
        due.truncate(limit.into());
        Ok(due)
    }

    fn place(&self, due: &Due) -> Key {
        Key::new(self.table.table(), "event_part", due.event_part.as_str()).and("send", due.send.as_str())
    }
}
