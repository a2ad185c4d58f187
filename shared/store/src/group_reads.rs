//! The table of group reads: the event notifications that a member has read for the group.
//!
//! Each event notification says the same in `read_by`. An inbox needs it for every shared notification that its recipient
//! has not read, which is nearly all of them where colleagues read first. Here it is one query of small items instead of a
//! get of each event notification with all its texts.

use std::collections::BTreeSet;
use std::time::Duration;

use belfry_aws::id::compose;
use belfry_aws::item::{expiry, from_item, to_item};
use belfry_aws::{Belfry, Corrupt, Error, Key, Table, Timestamp, Unwritable, Write};
use domain::notification::EventNotification;
use domain::{Audience, EventId};
use serde::{Deserialize, Serialize};

use crate::partition::Partition;

/// The table.
pub const TABLE: Table = Table::new("group-reads", "audience_group").range("read_event").ttl("expires_at");

/// How many reads one query returns at most. DynamoDB ends a page at one MiB.
const PAGE: u16 = 10_000;

#[derive(Serialize, Deserialize)]
struct GroupReadRow {
    audience_group: String,
    /// The time at which the event was recorded, and its id, so that rows sort as notifications do.
    read_event: String,
    event_id: EventId,
}

/// The write that stores that the group has read this. It has no condition: the event notification, which changes in the
/// same transaction, has one.
pub fn mark_read(
    notification: &EventNotification,
    now: Timestamp,
    retention: Option<Duration>,
) -> Result<Write, Unwritable> {
    let row = GroupReadRow {
        audience_group: compose(&[notification.audience.as_str(), &notification.group]),
        read_event: format!("{}#{}", notification.created_at, notification.event_id),
        event_id: notification.event_id.clone(),
    };
    let mut item = to_item(&row)?;
    item.extend(expiry(now, retention));
    Ok(Write::put(TABLE.at(Key::pair(row.audience_group, row.read_event)), item))
}

/// The events recorded at `since` or later that the group has read. One round trip per MiB.
pub async fn since(
    belfry: &Belfry,
    audience: Audience,
    group: &str,
    since: Timestamp,
) -> Result<BTreeSet<EventId>, Error> {
    let partition = Partition::of(TABLE, compose(&[audience.as_str(), group]));
    // A bare time sorts before everything that was recorded at it.
    let mut after = since.to_string();
    let mut read = BTreeSet::new();
    loop {
        let parse = |item| -> Result<GroupReadRow, Corrupt> { from_item(TABLE.name, item) };
        let page = partition.page(belfry, PAGE, Some(&after), parse).await?;
        read.extend(page.rows.into_iter().map(|row| row.event_id));
        match page.next {
            Some(next) => after = next,
            None => return Ok(read),
        }
    }
}
