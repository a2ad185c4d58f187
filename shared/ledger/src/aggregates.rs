//! Aggregates: things with a version, one item each. The next aggregate is one `impl` in one file.

use std::marker::PhantomData;
use std::ops::Deref;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::commit::Write;
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, from_item, number, to_item};
use crate::read::Found;

/// A thing with a version. It is stored as `serde` writes it, so its fields are the attributes; one of them must be
/// called `version`.
pub trait Aggregate: Serialize + DeserializeOwned {
    /// What identifies it.
    type Id;

    /// Its place in a table.
    fn key(table: &str, id: &Self::Id) -> Key;

    /// What identifies this one.
    fn id(&self) -> Self::Id;

    /// Grows by one with each change, from 1.
    fn version(&self) -> u64;

    /// Attributes beside its fields: what an index or the table's TTL goes by.
    fn indexed(&self) -> Item {
        Item::new()
    }
}

/// An entity of the kernel with the version that the kernel counts, as its item holds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versioned<E> {
    /// The entity.
    #[serde(flatten)]
    pub entity: E,
    /// Grows by one with each change, from 1.
    pub version: u64,
}

impl<E> Deref for Versioned<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.entity
    }
}

/// A table of aggregates.
#[derive(Debug)]
pub struct Aggregates<A> {
    table: String,
    of: PhantomData<fn() -> A>,
}

impl<A> Clone for Aggregates<A> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), of: PhantomData }
    }
}

impl<A: Aggregate> Aggregates<A> {
    /// The table of this name.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into(), of: PhantomData }
    }

    /// An aggregate's place.
    pub fn key(&self, id: &A::Id) -> Key {
        A::key(&self.table, id)
    }

    /// Stores an aggregate, if the one before it (version one lower, or none) is what stands there.
    pub fn put(&self, aggregate: &A) -> Result<Write, LedgerError> {
        self.put_with(aggregate, None)
    }

    /// The same with attributes that a setting has a say in.
    pub(crate) fn put_with(
        &self,
        aggregate: &A,
        more: impl IntoIterator<Item = (String, AttributeValue)>,
    ) -> Result<Write, LedgerError> {
        let (key, mut item) = (self.key(&aggregate.id()), to_item(aggregate)?);
        item.extend(aggregate.indexed());
        item.extend(more);
        match aggregate.version() {
            0 | 1 => Write::create(key, item),
            version => Write::put(key, item, "version = :before", [(":before", number(version - 1))]),
        }
    }

    /// The aggregate among the items that were found.
    pub fn among(&self, found: &Found, id: &A::Id) -> Result<Option<A>, Corrupt> {
        found.get(&self.key(id)).map(|item| self.parse(item.clone())).transpose()
    }

    /// The aggregate, as it stands now.
    pub async fn get(&self, ledger: &Ledger, id: &A::Id) -> Result<Option<A>, LedgerError> {
        let item = ledger.get(&self.key(id)).await?;
        Ok(item.map(|item| self.parse(item)).transpose()?)
    }

    /// The table's name.
    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    pub(crate) fn parse(&self, item: Item) -> Result<A, Corrupt> {
        from_item(&self.table, item)
    }
}
