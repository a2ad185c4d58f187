//! The sparse index of entries that are not PUBLISHED: found by shelf, and by when they are due.

use domain::id::compose;
use domain::{EventId, Time};
use futures_util::future::try_join_all;
use serde::Deserialize;

use super::Entry;
use crate::error::LedgerError;
use crate::item::{Item, Key, from_item, spread};
use crate::read::{DueQuery, Page};
use crate::{Events, Ledger};

/// How many partitions each shelf is spread over, so that no single one takes all writes.
const SPREAD: u32 = 8;

/// How many partitions are looked at the same time by what runs every minute.
const AT_ONCE: usize = 4;

/// A part of the index of unpublished entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// PENDING; due when the stream should have published it, or at its next retry.
    Open,
    /// Claimed; due when the lease ends.
    InFlight,
    /// Given up on; since when.
    Failed,
}

impl Shelf {
    fn partitions(self) -> Vec<String> {
        (0..SPREAD).map(|spread| self.partition(spread)).collect()
    }

    fn partition(self, spread: u32) -> String {
        let shelf = match self {
            Self::Open => "OPEN",
            Self::InFlight => "IN_FLIGHT",
            Self::Failed => "FAILED",
        };
        compose(&[shelf, &spread.to_string()])
    }

    /// The partition that holds this entry.
    pub(crate) fn partition_of(self, event_id: &EventId) -> String {
        self.partition(spread(event_id.as_str(), SPREAD))
    }
}

#[derive(Deserialize)]
struct Due {
    event_id: EventId,
    due_at: String,
}

impl Due {
    fn place(&self) -> String {
        format!("{}#{}", self.due_at, self.event_id)
    }
}

impl Events {
    /// At most `limit` entries that nobody has published in time, or whose sweeper's lease has ended. A query per
    /// partition of the two shelves.
    pub async fn overdue(&self, ledger: &Ledger, now: Time, limit: u16) -> Result<Vec<EventId>, LedgerError> {
        let partitions = [Shelf::Open, Shelf::InFlight].map(Shelf::partitions).concat();
        let until = now.to_string();
        let mut due: Vec<Due> = Vec::new();
        for some in partitions.chunks(AT_ONCE) {
            let queries = some.iter().map(|partition| self.due(ledger, partition, (None, &until), limit));
            due.extend(try_join_all(queries).await?.into_iter().flatten());
        }
        due.sort_by(|a, b| a.due_at.cmp(&b.due_at));
        due.truncate(limit.into());
        Ok(due.into_iter().map(|due| due.event_id).collect())
    }

    /// One page of a shelf, oldest first, from behind `after`. Entries that have left it meanwhile are not shown.
    pub async fn on_shelf(
        &self,
        ledger: &Ledger,
        shelf: Shelf,
        limit: u16,
        after: Option<&str>,
    ) -> Result<Page<Entry>, LedgerError> {
        let partitions = shelf.partitions();
        let queries = partitions.iter().map(|partition| self.due(ledger, partition, (after, "~"), limit + 1));
        let mut due: Vec<Due> = try_join_all(queries).await?.into_iter().flatten().collect();
        due.sort_by_key(Due::place);
        let more = due.len() > limit.into();
        due.truncate(limit.into());
        let next = due.last().filter(|_| more).map(Due::place);
        let keys: Vec<Key> = due.iter().map(|due| self.key(&due.event_id)).collect();
        let found = ledger.get_all(&keys).await?;
        let rows = due.iter().zip(&keys).filter_map(|(due, key)| Some(Entry::read(&due.event_id, found.get(key)?)));
        Ok(Page { rows: rows.collect(), next })
    }

    /// How many entries a shelf holds.
    pub async fn shelf_size(&self, ledger: &Ledger, shelf: Shelf) -> Result<usize, LedgerError> {
        let partitions = shelf.partitions();
        let queries = partitions.iter().map(|partition| self.due(ledger, partition, (None, "~"), u16::MAX));
        Ok(try_join_all(queries).await?.into_iter().map(|due| due.len()).sum())
    }

    /// At most `limit` entries of one partition that are due until then, from behind the place `after`.
    async fn due(
        &self,
        ledger: &Ledger,
        partition: &str,
        (after, until): (Option<&str>, &str),
        limit: u16,
    ) -> Result<Vec<Due>, LedgerError> {
        // The index knows no order among entries that are due at the same moment; their places do.
        let low = after.and_then(|after| after.split_once('#')).map_or("0", |(due_at, _)| due_at);
        let is_behind = |due: &Due| after.is_none_or(|after| due.place().as_str() > after);
        let query = DueQuery { table: &self.table, index: ("unpublished", partition), between: (low, until), limit };
        let behind = |items: &[Item]| {
            let due = items.iter().filter_map(|item| from_item::<Due>(&self.table, item.clone()).ok());
            due.filter(is_behind).count() >= limit.into()
        };
        let items = ledger.due_until(&query, behind).await?.into_iter();
        let found = items.map(|item| from_item::<Due>(&self.table, item)).collect::<Result<Vec<Due>, _>>()?;
        Ok(found.into_iter().filter(is_behind).collect())
    }
}
