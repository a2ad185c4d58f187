//! The sparse index of events that are not PUBLISHED: by status and due time.

use belfry_core::commit::Expression;
use belfry_core::id::compose;
use belfry_core::item::{from_item, spread, text};
use belfry_core::{EventId, Item, Timestamp};
use futures_util::future::try_join_all;
use serde::Deserialize;

use super::{OutboxEntry, place};
use crate::dynamo::Query;
use crate::tables::{EVENTS, UNPUBLISHED};
use crate::{Belfry, Error, Page};

/// How many partitions each status is spread over, so that no single one takes all writes.
const PARTITIONS: u32 = 8;

/// How many partitions a job that runs every minute reads at the same time.
const PARALLEL_QUERIES: usize = 4;

/// Sorts after every time.
const END: &str = "~";

/// The part of the index that holds one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuePartition {
    /// PENDING; due when the relay should have published it, or at its next attempt.
    Open,
    /// Claimed; due when the lease ends.
    InFlight,
    /// FAILED; since when.
    Failed,
}

impl DuePartition {
    fn all(self) -> impl Iterator<Item = String> {
        (0..PARTITIONS).map(move |partition| self.name(partition))
    }

    fn name(self, partition: u32) -> String {
        let status = match self {
            Self::Open => "OPEN",
            Self::InFlight => "IN_FLIGHT",
            Self::Failed => "FAILED",
        };
        compose(&[status, &partition.to_string()])
    }

    /// The partition of this event.
    pub(super) fn of(self, event_id: &EventId) -> String {
        self.name(spread(event_id.as_str(), PARTITIONS))
    }
}

#[derive(Deserialize)]
struct Due {
    event_id: EventId,
    due_at: String,
}

impl Due {
    /// Its position in the order of the index: the index itself knows no order among events that are due together.
    fn position(&self) -> String {
        format!("{}#{}", self.due_at, self.event_id)
    }
}

impl Belfry {
    /// At most `limit` events that were not published in time, or whose sweeper's lease has ended.
    pub async fn overdue(&self, now: Timestamp, limit: u16) -> Result<Vec<EventId>, Error> {
        let partitions: Vec<String> =
            [DuePartition::Open, DuePartition::InFlight].into_iter().flat_map(DuePartition::all).collect();
        let until = now.to_string();
        let mut due: Vec<Due> = Vec::new();
        for partitions in partitions.chunks(PARALLEL_QUERIES) {
            let queries = partitions.iter().map(|partition| self.due(partition, None, &until, limit));
            due.extend(try_join_all(queries).await?.into_iter().flatten());
        }
        due.sort_by(|a, b| a.due_at.cmp(&b.due_at));
        due.truncate(limit.into());
        Ok(due.into_iter().map(|due| due.event_id).collect())
    }

    /// One page of the events with this status, oldest first. Events that have left it meanwhile are left out.
    pub async fn outbox_page(
        &self,
        partition: DuePartition,
        limit: u16,
        after: Option<&str>,
    ) -> Result<Page<OutboxEntry>, Error> {
        let partitions: Vec<String> = partition.all().collect();
        let queries = partitions.iter().map(|partition| self.due(partition, after, END, limit + 1));
        let mut due: Vec<Due> = try_join_all(queries).await?.into_iter().flatten().collect();
        due.sort_by_key(Due::position);
        let more = due.len() > limit.into();
        due.truncate(limit.into());
        let next = due.last().filter(|_| more).map(Due::position);
        let found = self.get_all(due.iter().map(|due| place(&due.event_id)), None).await?;
        let rows = due.iter().filter_map(|due| OutboxEntry::among(&found, &due.event_id)).collect();
        Ok(Page { rows, next })
    }

    /// How many events have this status.
    pub async fn outbox_size(&self, partition: DuePartition) -> Result<usize, Error> {
        let partitions: Vec<String> = partition.all().collect();
        let queries = partitions.iter().map(|partition| self.due(partition, None, END, u16::MAX));
        Ok(try_join_all(queries).await?.into_iter().map(|due| due.len()).sum())
    }

    /// At most `limit` events of one partition that are due by then, from after the position `after`.
    async fn due(&self, partition: &str, after: Option<&str>, until: &str, limit: u16) -> Result<Vec<Due>, Error> {
        let low = after.and_then(|after| after.split_once('#')).map_or("0", |(due_at, _)| due_at);
        let is_after = |due: &Due| after.is_none_or(|after| due.position().as_str() > after);
        let key = Expression::new(
            "#unpublished = :partition AND #due_at BETWEEN :low AND :high",
            [(":partition", text(partition)), (":low", text(low)), (":high", text(until))],
        );
        let query = Query::index(EVENTS, UNPUBLISHED.name, key).limit(limit);
        let enough = |items: &[Item]| {
            let due = items.iter().filter_map(|item| from_item::<Due>(EVENTS.name, item.clone()).ok());
            due.filter(is_after).count() >= limit.into()
        };
        let items = self.query_until(query, enough).await?.items.into_iter();
        let due = items.map(|item| from_item::<Due>(EVENTS.name, item)).collect::<Result<Vec<Due>, _>>()?;
        Ok(due.into_iter().filter(is_after).collect())
    }
}
