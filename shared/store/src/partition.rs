//! One page of a partition of a table, in the order of its sort key.

use belfry_aws::item::{text, text_of};
use belfry_aws::{Belfry, Corrupt, Error, Item, Key, Page, Query, Table, partition};

/// A partition of a table with a text sort key.
#[derive(Debug, Clone)]
pub(crate) struct Partition {
    table: Table,
    hash: String,
}

impl Partition {
    /// The partition with this key.
    pub(crate) fn of(table: Table, hash: impl Into<String>) -> Self {
        Self { table, hash: hash.into() }
    }

    /// Queries the whole partition.
    pub(crate) fn query(&self) -> Query {
        Query::table(self.table, partition(self.table.hash.name, text(&self.hash)))
    }

    /// One page in ascending order, from after the item with this sort key. One round trip.
    pub(crate) async fn page<T>(
        &self,
        belfry: &Belfry,
        limit: u16,
        after: Option<&str>,
        parse: impl Fn(Item) -> Result<T, Corrupt>,
    ) -> Result<Page<T>, Error> {
        self.run(belfry, self.query(), limit, after, parse).await
    }

    /// One page in descending order.
    pub(crate) async fn newest<T>(
        &self,
        belfry: &Belfry,
        limit: u16,
        after: Option<&str>,
        parse: impl Fn(Item) -> Result<T, Corrupt>,
    ) -> Result<Page<T>, Error> {
        self.run(belfry, self.query().descending(true), limit, after, parse).await
    }

    async fn run<T>(
        &self,
        belfry: &Belfry,
        query: Query,
        limit: u16,
        after: Option<&str>,
        parse: impl Fn(Item) -> Result<T, Corrupt>,
    ) -> Result<Page<T>, Error> {
        let start = after.map(|after| self.table.at(Key::pair(self.hash.as_str(), after)).attributes());
        let page = belfry.query(&query.limit(limit).after(start)).await?;
        let sort = self.table.range.map_or("", |range| range.name);
        let next = page.next.as_ref().and_then(|last| text_of(last, sort)).map(str::to_owned);
        let rows = page.items.into_iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Page { rows, next })
    }
}
