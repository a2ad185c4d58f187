//! Table of notifications: one row per recipient.
//!
//! The key is (recipient, notification id), and the id is derived from event and recipient: a second insert meets
//! the first, and the inbox is one consistent query, newest first, with no index in between.

use domain::notification::Notification;
use domain::{Audience, EventId, Time, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Ledger;
use crate::commit::Write;
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, from_item, to_item};
use crate::read::{Page, Query};
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_at: Option<Time>,
}

impl Notifications {
    /// The table of this name.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }

    fn key(&self, audience: Audience, user_id: &UserId, id: Uuid) -> Key {
        self.inbox(audience, user_id).and("notification_id", id.to_string())
    }

    fn inbox(&self, audience: Audience, user_id: &UserId) -> Key {
        Key::new(&self.table, "recipient", recipient_key(audience, user_id))
    }

    /// Stores a notification, if it is new.
    pub fn create(&self, notification: &Notification) -> Result<Write, LedgerError> {
        let key = self.key(notification.audience, &notification.user_id, notification.notification_id);
        let row = Row {
            recipient: key.hash.1.clone(),
            notification_id: notification.notification_id,
            audience: notification.audience,
            user_id: notification.user_id.clone(),
            event_id: notification.event_id.clone(),
            group: notification.group.clone(),
            created_at: notification.created_at,
            read_at: notification.read_at,
        };
        let item = to_item(&row)?;
        Write::create(key, item)
    }

    /// A recipient's notifications, newest first, from behind `after`.
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
        let rows = page.rows.into_iter().map(|item| self.parse(item)).collect::<Result<_, _>>()?;
        Ok(Page { rows, next: page.next })
    }

    /// How many of a recipient's notifications are unread.
    pub async fn unread_count(
        &self,
        ledger: &Ledger,
        (audience, user_id): (Audience, &UserId),
    ) -> Result<u64, LedgerError> {
        ledger.count(&self.inbox(audience, user_id), "attribute_not_exists(read_at)").await
    }

    fn parse(&self, item: Item) -> Result<Notification, Corrupt> {
        let row: Row = from_item(&self.table, item)?;
        Ok(Notification {
            notification_id: row.notification_id,
            audience: row.audience,
            user_id: row.user_id,
            event_id: row.event_id,
            group: row.group,
            created_at: row.created_at,
            read_at: row.read_at,
        })
    }
}
