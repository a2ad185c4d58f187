//! The table of inboxes: the time up to which a recipient has marked everything read.
//!
//! One small item instead of a write to every notification. The time never moves back.

use belfry_aws::commit::Expression;
use belfry_aws::item::{from_item, text};
use belfry_aws::{Corrupt, Item, Place, Table, Timestamp, Write};
use domain::{Audience, UserId};
use serde::Deserialize;

use crate::recipients::recipient_key;

/// The table.
pub const TABLE: Table = Table::new("inboxes", "recipient");

#[derive(Deserialize)]
struct InboxRow {
    read_until: Timestamp,
}

/// The place of a recipient's inbox.
pub fn place(audience: Audience, user_id: &UserId) -> Place {
    TABLE.at(recipient_key(audience, user_id))
}

/// The time up to which everything is read.
pub fn read_until(item: Option<Item>) -> Result<Option<Timestamp>, Corrupt> {
    let row: Option<InboxRow> = item.map(|item| from_item(TABLE.name, item)).transpose()?;
    Ok(row.map(|row| row.read_until))
}

/// The write that marks everything read up to this time. Its condition fails if it is marked up to a later one.
pub fn mark_all_read(audience: Audience, user_id: &UserId, until: Timestamp) -> Write {
    let set = Expression::new("SET #read_until = :until", [(":until", text(until))]);
    let is_later = Expression::new("attribute_not_exists(#recipient) OR #read_until < :until", []);
    Write::update(place(audience, user_id), set).when(is_later)
}
