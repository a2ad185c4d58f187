//! The table of notifications: one item per recipient of an event.
//!
//! The key is the recipient and the notification id. The id is derived from the event and the recipient, so a second insert
//! meets the first, and the inbox is one consistent query, newest first. A local index holds what is unread, so that
//! counting it reads nothing else. DynamoDB deletes late, and not together with the event notification: an expired item
//! counts as absent in an inbox.

use std::time::Duration;

use belfry_aws::commit::Expression;
use belfry_aws::item::{expiry, from_item, has_expired, number, text, to_item};
use belfry_aws::{Belfry, Corrupt, Error, Item, Key, Page, Place, Query, Table, Timestamp, Unwritable, Write};
use domain::notification::Notification;
use domain::{Audience, EventId, UserId};
use serde::Deserialize;
use uuid::Uuid;

use crate::partition::Partition;
use crate::recipients::recipient_key;

/// The table.
pub const TABLE: Table = Table::new("notifications", "recipient").range("notification_id").ttl("expires_at");

/// The local index of unread notifications, sorted by the time at which each was stored. Consistent.
const UNREAD: &str = "unread";

/// When the notification was stored, for as long as its recipient has not read it: the sort key of the index.
const UNREAD_SINCE: &str = "unread_since";

/// A notification that its recipient has not read, as far as the item knows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct UnreadNotification {
    /// The event.
    pub event_id: EventId,
    /// The group whose event notification it shows.
    pub group: String,
    /// When the event was recorded.
    pub created_at: Timestamp,
    /// Another member may have read it for the group.
    #[serde(default)]
    pub shared_read: bool,
}

/// The place of a notification.
pub fn place(audience: Audience, user_id: &UserId, id: Uuid) -> Place {
    TABLE.at(Key::pair(recipient_key(audience, user_id), id))
}

/// Reads an item.
pub fn parse(item: Item) -> Result<Notification, Corrupt> {
    from_item(TABLE.name, item)
}

/// The write that stores an unread notification, unless it exists. Each attempt stamps its own time: a late attempt must
/// not look as if it was there before its recipient marked everything read.
pub fn create_if_absent(notification: &Notification, retention: Option<Duration>) -> Result<Write, Unwritable> {
    let place = place(notification.audience, &notification.user_id, notification.notification_id);
    let mut item = to_item(notification)?;
    item.extend(place.attributes());
    item.extend(expiry(notification.told_at, retention));
    Ok(Write::create(place, item).if_absent().stamped(&["told_at", UNREAD_SINCE]))
}

/// One page of a recipient's notifications that have not expired, newest first.
pub async fn of_recipient(
    belfry: &Belfry,
    audience: Audience,
    user_id: &UserId,
    limit: u16,
    after: Option<&str>,
) -> Result<Page<Notification>, Error> {
    let now = belfry.now();
    let partition = Partition::of(TABLE, recipient_key(audience, user_id));
    let unless_expired = |item: Item| if has_expired(&item, now) { Ok(None) } else { parse(item).map(Some) };
    let page = partition.newest(belfry, limit, after, unless_expired).await?;
    Ok(Page { rows: page.rows.into_iter().flatten().collect(), next: page.next })
}

/// The notifications that a recipient has neither read nor marked read up to `read_until`, and that have not expired. One
/// round trip per MiB of unread notifications.
pub async fn unread(
    belfry: &Belfry,
    audience: Audience,
    user_id: &UserId,
    read_until: Option<Timestamp>,
) -> Result<Vec<UnreadNotification>, Error> {
    let recipient = text(recipient_key(audience, user_id));
    let key = match read_until {
        Some(until) => Expression::new(
            format!("#recipient = :recipient AND #{UNREAD_SINCE} > :until"),
            [(":recipient", recipient), (":until", text(until))],
        ),
        None => Expression::new("#recipient = :recipient", [(":recipient", recipient)]),
    };
    let now = number(belfry.now().as_seconds());
    let live = Expression::new("attribute_not_exists(#expires_at) OR #expires_at > :now", [(":now", now)]);
    let attributes = &["event_id", "group", "created_at", "shared_read"];
    let items = belfry.query_all(Query::index(TABLE, UNREAD, key).filter(live).attributes(attributes)).await?;
    Ok(items.into_iter().map(|item| from_item(TABLE.name, item)).collect::<Result<_, _>>()?)
}

/// The write that marks a notification read by its recipient, if it exists and they have not read it.
pub fn mark_read(notification: &Notification, at: Timestamp) -> Write {
    let place = place(notification.audience, &notification.user_id, notification.notification_id);
    let set = Expression::new(format!("SET #read_at = :at REMOVE #{UNREAD_SINCE}"), [(":at", text(at))]);
    let is_unread = "attribute_exists(#notification_id) AND attribute_not_exists(#read_at)";
    Write::update(place, set).when(Expression::new(is_unread, []))
}
