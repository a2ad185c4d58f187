//! How much of an inbox is unread: one query for what its recipient has not read, and for each group that some of that was
//! told to together (there is rarely more than one) one for what the group has read since the oldest of it.
//!
//! The group's reads are looked up beside the event notifications and not in them: a recipient whose colleagues read
//! first never reads most of their own rows, and the texts of all of those would be fetched to count to none.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Audience, EventId, Time, UserId};
use futures_util::future::try_join_all;
use ledger::LedgerError;
use ledger::notifications::Unread;

use crate::Api;
use crate::http::error::ApiError;

/// What each group has read.
type Reads = BTreeMap<String, BTreeSet<EventId>>;

impl Api {
    /// How many of the reader's notifications are unread by them, by their groups, and since they marked everything read.
    pub async fn unread_count(
        &self,
        (audience, user_id): (Audience, &UserId),
        read_until: Option<Time>,
    ) -> Result<u64, ApiError> {
        let ledger = &self.commands.ledger;
        let unread = self.notifications.unread(ledger, (audience, user_id), read_until).await?;
        let reads = oldest_shared(&unread).into_iter().map(|(group, since)| async move {
            let read = self.group_reads.since(ledger, (audience, group), since).await?;
            Ok::<_, LedgerError>((group.to_owned(), read))
        });
        let reads: Reads = try_join_all(reads).await?.into_iter().collect();
        Ok(count(&unread, &reads))
    }
}

/// The groups that unread rows were told to together, and since when there are any.
fn oldest_shared(unread: &[Unread]) -> BTreeMap<&str, Time> {
    let mut oldest: BTreeMap<&str, Time> = BTreeMap::new();
    for row in unread.iter().filter(|row| row.shared_read) {
        let since = oldest.entry(&row.group).or_insert(row.created_at);
        *since = row.created_at.min(*since);
    }
    oldest
}

fn count(unread: &[Unread], reads: &Reads) -> u64 {
    let group_has_read = |row: &Unread| reads.get(&row.group).is_some_and(|read| read.contains(&row.event_id));
    let left = unread.iter().filter(|row| !(row.shared_read && group_has_read(row))).count();
    u64::try_from(left).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(event: &str, group: &str, minute: u8, shared_read: bool) -> Unread {
        Unread { event_id: id(event), group: group.to_owned(), created_at: at(minute), shared_read }
    }

    fn id(event: &str) -> EventId {
        EventId::parse(event).expect("an id")
    }

    fn at(minute: u8) -> Time {
        Time::parse(&format!("2026-01-01T12:{minute:02}:00Z")).expect("a time")
    }

    #[test]
    fn what_a_group_has_read_is_read_where_reading_is_shared_and_nowhere_else() {
        let rows = [
            unread("a", "restaurant:1", 3, true),
            unread("b", "restaurant:1", 2, true),
            unread("c", "restaurant:2", 1, true),
            unread("d", "restaurant:1", 0, false),
        ];
        assert_eq!(oldest_shared(&rows), BTreeMap::from([("restaurant:1", at(2)), ("restaurant:2", at(1))]));
        let reads = |group: &str, events: &[&str]| (group.to_owned(), events.iter().map(|event| id(event)).collect());
        let nobody = Reads::new();
        let some: Reads = [reads("restaurant:1", &["a", "c", "d"]), reads("restaurant:2", &["a"])].into();
        assert_eq!((count(&rows, &nobody), count(&rows, &some)), (4, 3));
    }
}
