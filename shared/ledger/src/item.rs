//! Items and keys: the only place that touches attribute values.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::Time;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Corrupt, LedgerError};

/// An item as DynamoDB holds it.
pub type Item = HashMap<String, AttributeValue>;

/// Which item: table, and the values of its key attributes (all of them text in this system).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub(crate) table: String,
    pub(crate) hash: (&'static str, String),
    pub(crate) range: Option<(&'static str, String)>,
}

impl Key {
    /// The key of an item in a table without a sort key.
    pub fn new(table: &str, name: &'static str, value: impl Into<String>) -> Self {
        Self { table: table.to_owned(), hash: (name, value.into()), range: None }
    }

    /// Adds the sort key.
    #[must_use]
    pub fn and(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.range = Some((name, value.into()));
        self
    }

    pub(crate) fn attributes(&self) -> Item {
        std::iter::once(&self.hash)
            .chain(&self.range)
            .map(|(name, value)| ((*name).to_owned(), AttributeValue::S(value.clone())))
            .collect()
    }

    /// Whether this is the key of that item.
    pub(crate) fn is_of(&self, item: &Item) -> bool {
        std::iter::once(&self.hash)
            .chain(&self.range)
            .all(|(name, value)| matches!(item.get(*name), Some(AttributeValue::S(found)) if found == value))
    }
}

/// The names and values of its attributes: ids, as an operator would look them up.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.hash.0, self.hash.1)?;
        self.range.iter().try_for_each(|(name, value)| write!(f, ", {name} {value}"))
    }
}

/// Which of several partitions an id belongs to. FNV-1a: any spread will do, it must only be the same everywhere.
pub(crate) fn spread(id: &str, over: u32) -> u32 {
    let hash = id.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % over
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// The attribute that DynamoDB's TTL deletes by, for what is kept for so long from its end on; without a retention, none.
/// TTL deletes what lies before now: one second more, and what is exactly of that age stays.
pub(crate) fn expiry(end: Time, retention: Option<Duration>) -> Option<(String, AttributeValue)> {
    let expires = end.plus(retention?).as_seconds() + 1;
    Some(("expires_at".to_owned(), number(expires)))
}

/// Whether DynamoDB's TTL may delete the item already.
pub(crate) fn has_expired(item: &Item, now: Time) -> bool {
    let expires_at = item.get("expires_at").and_then(|value| value.as_n().ok()).and_then(|text| text.parse().ok());
    expires_at.is_some_and(|expires_at: i64| expires_at <= now.as_seconds())
}

pub(crate) fn to_item(row: &impl Serialize) -> Result<Item, LedgerError> {
    serde_dynamo::aws_sdk_dynamodb_1::to_item(row).map_err(|error| LedgerError::Unwritable(error.to_string()))
}

pub(crate) fn to_value(value: &impl Serialize) -> Result<AttributeValue, LedgerError> {
    serde_dynamo::aws_sdk_dynamodb_1::to_attribute_value(value)
        .map_err(|error| LedgerError::Unwritable(error.to_string()))
}

pub(crate) fn from_item<T: DeserializeOwned>(table: &str, item: impl Into<serde_dynamo::Item>) -> Result<T, Corrupt> {
    serde_dynamo::from_item(item).map_err(|error| Corrupt::new(table, &error))
}
