//! Table of notifications: one row per recipient.
//!
//! The key is (recipient, notification id), and the id is derived from event and recipient: a second insert meets
//! the first, and the inbox is one consistent query, newest first, with no index in between. What is unread is in a local index besides,
//! so that counting it reads nothing else. DynamoDB deletes late, and a
//! row not together with its event notification: what has expired counts as absent in an inbox.

use std::time::Duration;

use domain::notification::Notification;
use domain::{Audience, EventId, Time, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Ledger;
use crate::commit::{Change, Write};
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, from_item, has_expired, number, text};
use crate::read::{Filter, Found, Page, Query};
use crate::recipients::recipient_key;

/// The table.
#[derive(Debug, Clone)]
pub struct Notifications {
    table: String,
}

#[derive(Serialize, Deserialize)]
struct Row {
    recipient: String,
    notification_id: Uuid,
    audience: Audience,
    user_id: UserId,
    event_id: EventId,
    group: String,
    created_at: Time,
    told_at: Time,
    #[serde(default)]
    shared_read: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_at: Option<Time>,
    /// When it was told, for as long as its recipient has not read it: what the index of the unread is sorted by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread_since: Option<Time>,
}

/// A notification that its recipient has not read, as far as the row knows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Unread {
    /// The event.
    pub event_id: EventId,
    /// The group whose event notification it shows.
    pub group: String,
    /// When the event was recorded.
    pub created_at: Time,
    /// Somebody else's reading may have marked it read.
    #[serde(default)]
    pub shared_read: bool,
}

impl Notifications {
    /// The table of this name. The retention is for who writes it.
    pub fn new(table: impl Into<String>, _: Option<Duration>) -> Self {
        Self { table: table.into() }
    }

    /// A notification's place.
    pub fn key(&self, audience: Audience, user_id: &UserId, id: Uuid) -> Key {
        self.inbox(audience, user_id).and("notification_id", id.to_string())
    }

    fn inbox(&self, audience: Audience, user_id: &UserId) -> Key {
        Key::new(&self.table, "recipient", recipient_key(audience, user_id))
    }

    /// A recipient's notifications that have not expired, newest first, from behind `after`.
    pub async fn of_recipient(
        &self,
        ledger: &Ledger,
        (audience, user_id): (Audience, &UserId),
        limit: u16,
        after: Option<&str>,
    ) -> Result<Page<Notification>, LedgerError> {
        let partition = self.inbox(audience, user_id);
        let query = Query { partition, sort: "notification_id", after, descending: true, limit };
        let page = ledger.query(&query).await?;
        let now = Time::now();
        let rows = page.rows.into_iter().filter(|item| !has_expired(item, now)).map(|item| self.parse(item));
        let rows = rows.collect::<Result<_, _>>()?;
        Ok(Page { rows, next: page.next })
    }

    /// Everything that a recipient has neither read nor marked read up to `read_until`, and that has not expired: a
    /// consistent query of the index that holds nothing else, one round trip per MiB of it.
    pub async fn unread(
        &self,
        ledger: &Ledger,
        (audience, user_id): (Audience, &UserId),
        read_until: Option<Time>,
    ) -> Result<Vec<Unread>, LedgerError> {
        let partition = self.inbox(audience, user_id);
        let filter = Filter {
            partition,
            index: "unread",
            sort: "unread_since",
            after: read_until.map(|until| until.to_string()),
            condition: "attribute_not_exists(expires_at) OR expires_at > :now",
            values: vec![(":now", number(Time::now().as_seconds()))],
            attributes: &["event_id", "group", "created_at", "shared_read"],
        };
        let items = ledger.matching(&filter).await?;
        Ok(items.into_iter().map(|item| from_item(&self.table, item)).collect::<Result<_, _>>()?)
    }

    /// The notification, as it stands now.
    pub async fn get(&self, ledger: &Ledger, key: &Key) -> Result<Option<Notification>, LedgerError> {
        let item = ledger.get(key).await?;
        Ok(item.map(|item| self.parse(item)).transpose()?)
    }

    /// The notification among the items that were found.
    pub fn among(&self, found: &Found, key: &Key) -> Result<Option<Notification>, Corrupt> {
        found.get(key).map(|item| self.parse(item.clone())).transpose()
    }

    /// Marks a notification read by its recipient, if it is there and they have not read it.
    pub fn read(&self, notification: &Notification, at: Time) -> Result<Write, LedgerError> {
        let change = Change {
            expression: "SET read_at = :at REMOVE unread_since".to_owned(),
            condition: "attribute_exists(notification_id) AND attribute_not_exists(read_at)".to_owned(),
            values: vec![(":at", text(at.to_string()))],
        };
        let key = self.key(notification.audience, &notification.user_id, notification.notification_id);
        Write::update(key, &change)
    }

    pub(crate) fn parse(&self, item: Item) -> Result<Notification, Corrupt> {
        let row: Row = from_item(&self.table, item)?;
        Ok(Notification {
            notification_id: row.notification_id,
            audience: row.audience,
            user_id: row.user_id,
            event_id: row.event_id,
            group: row.group,
            created_at: row.created_at,
            told_at: row.told_at,
            shared_read: row.shared_read,
            read_at: row.read_at,
        })
    }
}
