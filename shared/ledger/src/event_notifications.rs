//! Table of event notifications: what one event tells one audience group, and the state that the group shares.
//!
//! The key is (event, audience and group): the story of an event is one query.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::id::compose;
use domain::notification::{EventNotification, HandledBy, ReadBy, Text};
use domain::{Audience, EventId, Time};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::commit::{Change, Write};
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, from_item, to_value};
use crate::read::{Found, Query};

/// The table.
#[derive(Debug, Clone)]
pub struct EventNotifications {
    table: String,
}

#[derive(Serialize, Deserialize)]
struct Row {
    event_id: EventId,
    audience_group: String,
    event_type: String,
    audience: Audience,
    group: String,
    texts: BTreeMap<String, Text>,
    properties: String,
    shared_read: bool,
    actionable: bool,
    created_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_by: Option<ReadBy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handled_by: Option<HandledBy>,
}

impl EventNotifications {
    /// The table of this name. The retention is for who writes it.
    pub fn new(table: impl Into<String>, _: Option<Duration>) -> Self {
        Self { table: table.into() }
    }

    /// An event notification's place.
    pub fn key(&self, event_id: &EventId, audience: Audience, group: &str) -> Key {
        self.partition(event_id).and("audience_group", compose(&[audience.as_str(), group]))
    }

    fn partition(&self, event_id: &EventId) -> Key {
        Key::new(&self.table, "event_id", event_id.as_str())
    }

    /// Everything that one event tells, in one query as long as it is not very much.
    pub async fn of_event(&self, ledger: &Ledger, event_id: &EventId) -> Result<Vec<EventNotification>, LedgerError> {
        let (partition, sort) = (self.partition(event_id), "audience_group");
        let page = ledger.query(&Query { partition, sort, after: None, descending: false, limit: 100 }).await?;
        Ok(page.rows.into_iter().map(|item| self.parse(item)).collect::<Result<_, _>>()?)
    }

    /// The event notification among the items that were found.
    pub fn among(&self, found: &Found, key: &Key) -> Result<Option<EventNotification>, Corrupt> {
        found.get(key).map(|item| self.parse(item.clone())).transpose()
    }

    /// Stores who read it or handled it, where `before` has nobody and `after` has somebody, if still nobody has. Nothing
    /// where the two say the same.
    pub fn share(&self, before: &EventNotification, after: &EventNotification) -> Result<Option<Write>, LedgerError> {
        let mut changes = Vec::new();
        let mut conditions = vec!["attribute_exists(event_id)"];
        let mut values = Vec::new();
        if let (None, Some(reader)) = (&before.read_by, &after.read_by) {
            changes.push("read_by = :reader");
            conditions.push("attribute_not_exists(read_by)");
            values.push((":reader", to_value(reader)?));
        }
        if let (None, Some(actor)) = (&before.handled_by, &after.handled_by) {
            changes.push("handled_by = :actor");
            conditions.push("attribute_not_exists(handled_by)");
            values.push((":actor", to_value(actor)?));
        }
        if changes.is_empty() {
            return Ok(None);
        }
        let expression = format!("SET {}", changes.join(", "));
        let change = Change { expression, condition: conditions.join(" AND "), values };
        Write::update(self.key(&before.event_id, before.audience, &before.group), &change).map(Some)
    }

    /// These event notifications, in the order asked for, as they stand now.
    pub async fn get_all(&self, ledger: &Ledger, keys: &[Key]) -> Result<Vec<Option<EventNotification>>, LedgerError> {
        let mut distinct: Vec<Key> = Vec::with_capacity(keys.len());
        for key in keys {
            if !distinct.contains(key) {
                distinct.push(key.clone());
            }
        }
        let found = ledger.get_all(&distinct).await?;
        Ok(keys
            .iter()
            .map(|key| found.get(key).map(|item| self.parse(item.clone())).transpose())
            .collect::<Result<_, _>>()?)
    }

    pub(crate) fn parse(&self, item: Item) -> Result<EventNotification, Corrupt> {
        let row: Row = from_item(&self.table, item)?;
        let properties = serde_json::from_str(&row.properties).map_err(|error| Corrupt::new(&self.table, &error))?;
        Ok(EventNotification {
            event_id: row.event_id,
            event_type: row.event_type,
            audience: row.audience,
            group: row.group,
            texts: row.texts,
            properties,
            shared_read: row.shared_read,
            actionable: row.actionable,
            created_at: row.created_at,
            read_by: row.read_by,
            handled_by: row.handled_by,
        })
    }
}
