//! Items, keys and tables: plain data, independent of the AWS SDK.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
pub use serde_dynamo::AttributeValue;
use uuid::Uuid;

use crate::Timestamp;
use crate::id::compose;

/// An item: attribute names and values.
pub type Item = HashMap<String, AttributeValue>;

/// The type of a key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// Text.
    S,
    /// A number.
    N,
    /// Bytes.
    B,
}

/// A key attribute of a table or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyAttribute {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: KeyType,
}

impl KeyAttribute {
    /// A text attribute.
    pub const fn text(name: &'static str) -> Self {
        Self { name, kind: KeyType::S }
    }
}

/// A global secondary index. It projects all attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// Its partition key.
    pub hash: KeyAttribute,
    /// Its sort key.
    pub range: Option<KeyAttribute>,
}

/// The definition of a table. The physical name comes from the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Table {
    /// The logical name, such as `copies`.
    pub name: &'static str,
    /// The partition key.
    pub hash: KeyAttribute,
    /// The sort key.
    pub range: Option<KeyAttribute>,
    /// The attribute that holds the time to live.
    pub ttl: Option<&'static str>,
    /// Whether the table has a stream.
    pub stream: bool,
    /// The global secondary indexes.
    pub indexes: &'static [Index],
}

impl Table {
    /// A table with a text partition key.
    pub const fn new(name: &'static str, hash: &'static str) -> Self {
        Self { name, hash: KeyAttribute::text(hash), range: None, ttl: None, stream: false, indexes: &[] }
    }

    /// Adds a text sort key.
    #[must_use]
    pub const fn range(mut self, name: &'static str) -> Self {
        self.range = Some(KeyAttribute::text(name));
        self
    }

    /// Makes the key attributes of these types.
    #[must_use]
    pub const fn key_types(mut self, hash: KeyType, range: KeyType) -> Self {
        self.hash.kind = hash;
        if let Some(mut attribute) = self.range {
            attribute.kind = range;
            self.range = Some(attribute);
        }
        self
    }

    /// Expires items by this attribute.
    #[must_use]
    pub const fn ttl(mut self, attribute: &'static str) -> Self {
        self.ttl = Some(attribute);
        self
    }

    /// Adds a stream of new images.
    #[must_use]
    pub const fn stream(mut self) -> Self {
        self.stream = true;
        self
    }

    /// Adds global secondary indexes.
    #[must_use]
    pub const fn indexes(mut self, indexes: &'static [Index]) -> Self {
        self.indexes = indexes;
        self
    }

    /// The place of an item in this table.
    pub fn at(self, key: impl Into<Key>) -> Place {
        Place { table: self, key: key.into() }
    }
}

/// The value of a key attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyValue {
    /// Text.
    S(String),
    /// A number.
    N(String),
    /// Bytes.
    B(Vec<u8>),
}

impl KeyValue {
    fn attribute(&self) -> AttributeValue {
        match self {
            Self::S(text) => AttributeValue::S(text.clone()),
            Self::N(number) => AttributeValue::N(number.clone()),
            Self::B(bytes) => AttributeValue::B(bytes.clone()),
        }
    }

    fn is(&self, value: &AttributeValue) -> bool {
        match (self, value) {
            (Self::S(own), AttributeValue::S(other)) | (Self::N(own), AttributeValue::N(other)) => own == other,
            (Self::B(own), AttributeValue::B(other)) => own == other,
            _ => false,
        }
    }
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S(text) | Self::N(text) => f.write_str(text),
            Self::B(bytes) => f.write_str(&hex::encode(bytes)),
        }
    }
}

macro_rules! key_values {
    ($($type:ty => $variant:ident($convert:expr)),+ $(,)?) => {$(
        impl From<$type> for KeyValue {
            fn from(value: $type) -> Self {
                Self::$variant($convert(value))
            }
        }
    )+};
}

key_values! {
    &str => S(str::to_owned),
    String => S(|text| text),
    &String => S(String::clone),
    Uuid => S(|id: Uuid| id.to_string()),
    &Uuid => S(Uuid::to_string),
    u64 => N(|number: u64| number.to_string()),
    i64 => N(|number: i64| number.to_string()),
    Vec<u8> => B(|bytes| bytes),
}

/// The key of an item within its table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The partition key.
    pub hash: KeyValue,
    /// The sort key.
    pub range: Option<KeyValue>,
}

impl Key {
    /// A key of two attributes.
    pub fn pair(hash: impl Into<KeyValue>, range: impl Into<KeyValue>) -> Self {
        Self { hash: hash.into(), range: Some(range.into()) }
    }
}

impl<T: Into<KeyValue>> From<T> for Key {
    fn from(hash: T) -> Self {
        Self { hash: hash.into(), range: None }
    }
}

/// The key as one text, with `#` between its parts. `#` and `%` inside a part are escaped, so that different keys never
/// print the same.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hash, range) = (self.hash.to_string(), self.range.as_ref().map(KeyValue::to_string));
        match range {
            Some(range) => f.write_str(&compose(&[&hash, &range])),
            None => f.write_str(&hash),
        }
    }
}

/// The place of an item: its table and key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The table.
    pub table: Table,
    /// The key.
    pub key: Key,
}

impl Place {
    /// The key attributes.
    pub fn attributes(&self) -> Item {
        self.key_attributes().map(|(name, value)| (name.to_owned(), value.attribute())).collect()
    }

    /// Whether the item has this place's key.
    pub fn is_of(&self, item: &Item) -> bool {
        self.key_attributes().all(|(name, value)| item.get(name).is_some_and(|found| value.is(found)))
    }

    fn key_attributes(&self) -> impl Iterator<Item = (&'static str, &KeyValue)> {
        let range = self.table.range.map(|attribute| attribute.name).zip(self.key.range.as_ref());
        [(self.table.hash.name, &self.key.hash)].into_iter().chain(range)
    }
}

/// The table and the key, as an operator would look them up.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.table.name, self.key)
    }
}

/// A stored item cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("corrupt item in {table}: {problem}")]
pub struct Corrupt {
    /// The table.
    pub table: String,
    /// What is wrong. Contains no value of the item.
    pub problem: String,
}

impl Corrupt {
    /// An item of this table that could not be read for this reason. Values that the reason quotes are removed.
    pub fn new(table: &str, error: &impl fmt::Display) -> Self {
        Self { table: table.to_owned(), problem: without_values(&error.to_string()) }
    }
}

/// A commit that cannot be written. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot be written: {0}")]
pub struct Unwritable(pub String);

impl From<serde_json::Error> for Unwritable {
    fn from(error: serde_json::Error) -> Self {
        Self(without_values(&error.to_string()))
    }
}

/// The message of a serde error up to its first quoted value. The name of a missing field is not a value.
fn without_values(problem: &str) -> String {
    if problem.starts_with("missing field") {
        return problem.to_owned();
    }
    problem.split(['`', '"']).next().unwrap_or_default().trim_end().to_owned()
}

/// Serializes a row into an item.
pub fn to_item(row: &impl Serialize) -> Result<Item, Unwritable> {
    let item: Result<serde_dynamo::Item, _> = serde_dynamo::to_item(row);
    item.map(serde_dynamo::Item::into_inner).map_err(|error| Unwritable(without_values(&error.to_string())))
}

/// Serializes one value.
pub fn to_value(value: &impl Serialize) -> Result<AttributeValue, Unwritable> {
    serde_dynamo::to_attribute_value(value).map_err(|error| Unwritable(without_values(&error.to_string())))
}

/// Deserializes an item of this table.
pub fn from_item<T: DeserializeOwned>(table: &str, item: impl Into<serde_dynamo::Item>) -> Result<T, Corrupt> {
    serde_dynamo::from_item(item).map_err(|error| Corrupt::new(table, &error))
}

/// A text attribute.
pub fn text(value: impl ToString) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

/// A number attribute.
pub fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// The text or number of this name, if there is one.
pub fn text_of<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name) {
        Some(AttributeValue::S(text) | AttributeValue::N(text)) => Some(text),
        _ => None,
    }
}

/// The attribute that holds the time to live in every table of the kernel.
pub const EXPIRES_AT: &str = "expires_at";

/// The time to live of an item that is kept for `retention` from `end` on; `None` keeps it forever.
///
/// DynamoDB deletes items whose time lies before now. The value is one second later, so that an item of exactly the
/// retention's age is still there.
pub fn expiry(end: Timestamp, retention: Option<std::time::Duration>) -> Option<(String, AttributeValue)> {
    let expires = end.plus(retention?).as_seconds() + 1;
    Some((EXPIRES_AT.to_owned(), number(expires)))
}

/// Whether the item has expired. DynamoDB may not have deleted it yet.
pub fn has_expired(item: &Item, now: Timestamp) -> bool {
    let expires_at = text_of(item, EXPIRES_AT).and_then(|text| text.parse().ok());
    expires_at.is_some_and(|expires_at: i64| expires_at <= now.as_seconds())
}

/// The number of the partition, out of `over`, that an id belongs to (FNV-1a).
pub fn spread(id: &str, over: u32) -> u32 {
    let hash = id.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_reported_without_values() {
        for (problem, reported) in [
            ("missing field `status`", "missing field `status`"),
            ("unknown variant `alice@example.com`, expected `ACTIVE`", "unknown variant"),
            ("invalid type: string \"alice\", expected u64", "invalid type: string"),
        ] {
            assert_eq!(without_values(problem), reported);
        }
    }

    #[test]
    fn keys_with_different_parts_print_differently() {
        assert_eq!(Key::pair("a", "b").to_string(), "a#b");
        assert_ne!(Key::pair("a#b", "c").to_string(), Key::pair("a", "b#c").to_string());
        assert_eq!(Key::from(7_u64).to_string(), "7");
    }

    #[test]
    fn an_item_of_exactly_the_retentions_age_has_not_expired() {
        let end = Timestamp::parse("2026-01-01T00:00:00Z").expect("a timestamp");
        let day = std::time::Duration::from_secs(86_400);
        let item: Item = expiry(end, Some(day)).into_iter().collect();
        assert!(!has_expired(&item, end.plus(day)));
        assert!(has_expired(&item, end.plus(day * 2)));
        assert!(!has_expired(&Item::new(), end));
    }
}
