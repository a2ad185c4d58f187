//! Table of inboxes: up to which moment a recipient has marked everything read.
//!
//! One small item in place of a write to every row. It never moves back.

use domain::{Audience, Time, UserId};
use serde::Deserialize;

use crate::commit::{Change, Write};
use crate::error::{Corrupt, LedgerError};
use crate::item::{Key, from_item, text};
use crate::read::Found;
use crate::recipients::recipient_key;

/// The table.
#[derive(Debug, Clone)]
pub struct Inboxes {
    table: String,
}

#[derive(Deserialize)]
struct Row {
    read_until: Time,
}

impl Inboxes {
    /// The table of this name.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }

    /// A recipient's place.
    pub fn key(&self, audience: Audience, user_id: &UserId) -> Key {
        Key::new(&self.table, "recipient", recipient_key(audience, user_id))
    }

    /// Up to which moment everything is read, among the items that were found.
    pub fn among(&self, found: &Found, audience: Audience, user_id: &UserId) -> Result<Option<Time>, Corrupt> {
        let item = found.get(&self.key(audience, user_id));
        let row: Option<Row> = item.map(|item| from_item(&self.table, item.clone())).transpose()?;
        Ok(row.map(|row| row.read_until))
    }

    /// Marks everything read up to this moment, unless it is marked up to a later one.
    pub fn read_all(&self, audience: Audience, user_id: &UserId, until: Time) -> Result<Write, LedgerError> {
        let change = Change {
            expression: "SET read_until = :until".to_owned(),
            condition: "attribute_not_exists(recipient) OR read_until < :until".to_owned(),
            values: vec![(":until", text(until.to_string()))],
        };
        Write::update(self.key(audience, user_id), &change)
    }
}
