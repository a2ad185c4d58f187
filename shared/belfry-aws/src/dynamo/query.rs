//! Queries of one partition of a table or an index.

use std::collections::HashMap;

use belfry_core::commit::Expression;
use belfry_core::{AttributeValue, Item, Table};

use super::attempt::{AttemptOutcome, classify};
use super::convert::{from_sdk, to_sdk, value_to_sdk};
use crate::{Belfry, Error};

/// A query of one partition.
#[derive(Debug, Clone)]
pub struct Query {
    table: Table,
    index: Option<&'static str>,
    key: Expression,
    filter: Option<Expression>,
    projection: &'static [&'static str],
    descending: bool,
    limit: Option<u16>,
    start: Option<Item>,
}

/// What one call of a query returned.
#[derive(Debug, Default)]
pub struct QueryPage {
    /// The items.
    pub items: Vec<Item>,
    /// Where the next page starts, if there may be one.
    pub next: Option<Item>,
}

impl Query {
    /// Queries the table with this key condition, consistently.
    pub fn table(table: Table, key: Expression) -> Self {
        Self { table, index: None, key, filter: None, projection: &[], descending: false, limit: None, start: None }
    }

    /// Queries an index with this key condition. Global indexes lag behind their table: no decision may rest on one.
    pub fn index(table: Table, index: &'static str, key: Expression) -> Self {
        Self { index: Some(index), ..Self::table(table, key) }
    }

    /// Returns only the items for which this holds.
    #[must_use]
    pub fn filter(mut self, filter: Expression) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Returns only these attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: &'static [&'static str]) -> Self {
        self.projection = attributes;
        self
    }

    /// Returns the highest sort key first.
    #[must_use]
    pub fn descending(mut self, descending: bool) -> Self {
        self.descending = descending;
        self
    }

    /// Reads at most this many items per call.
    #[must_use]
    pub fn limit(mut self, limit: u16) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Starts after the item with these key attributes.
    #[must_use]
    pub fn after(mut self, start: Option<Item>) -> Self {
        self.start = start;
        self
    }

    fn is_local_index(&self) -> bool {
        self.index.is_some_and(|name| self.table.indexes.iter().all(|index| index.name != name))
    }
}

impl Belfry {
    /// Runs one call of a query.
    pub async fn query(&self, query: &Query) -> Result<QueryPage, Error> {
        let table = self.0.config.tables.name(query.table)?;
        let mut names: HashMap<String, String> = query.key.names();
        let mut values = query.key.values.clone();
        if let Some(filter) = &query.filter {
            names.extend(filter.names());
            values.extend(filter.values.iter().cloned());
        }
        // Any attribute's name may be a word that DynamoDB reserves.
        let projection: Vec<String> = query.projection.iter().map(|name| format!("#{name}")).collect();
        names.extend(query.projection.iter().map(|name| (format!("#{name}"), (*name).to_owned())));
        let values: HashMap<_, _> = values.into_iter().map(|(name, value)| (name, value_to_sdk(value))).collect();
        self.attempt(None, || async {
            let request = self
                .0
                .dynamodb
                .query()
                .table_name(&table)
                .set_index_name(query.index.map(str::to_owned))
                .key_condition_expression(&query.key.text)
                .set_filter_expression(query.filter.as_ref().map(|filter| filter.text.clone()))
                .set_projection_expression((!projection.is_empty()).then(|| projection.join(", ")))
                .set_expression_attribute_names(Some(names.clone()))
                .set_expression_attribute_values(Some(values.clone()))
                .set_exclusive_start_key(query.start.clone().map(to_sdk))
                .scan_index_forward(!query.descending)
                .set_limit(query.limit.map(i32::from))
                .set_consistent_read((query.index.is_none() || query.is_local_index()).then_some(true));
            match request.send().await {
                Ok(output) => AttemptOutcome::Done(QueryPage {
                    items: output.items.unwrap_or_default().into_iter().map(from_sdk).collect(),
                    next: output.last_evaluated_key.map(from_sdk),
                }),
                Err(error) => classify(&error),
            }
        })
        .await
    }

    /// Runs a query until there are no more pages, or until there is `enough`. Returns the items and where to continue.
    pub async fn query_until(&self, mut query: Query, enough: impl Fn(&[Item]) -> bool) -> Result<QueryPage, Error> {
        let mut found = QueryPage::default();
        loop {
            let page = self.query(&query).await?;
            found.items.extend(page.items);
            found.next = page.next;
            if found.next.is_none() || enough(&found.items) {
                return Ok(found);
            }
            query.start = found.next.clone();
        }
    }

    /// Runs a query to its end.
    pub async fn query_all(&self, query: Query) -> Result<Vec<Item>, Error> {
        Ok(self.query_until(query, |_| false).await?.items)
    }
}

/// The key condition of a whole partition: `#NAME = :hash`.
pub fn partition(name: &str, value: AttributeValue) -> Expression {
    Expression::new(format!("#{name} = :hash"), [(":hash", value)])
}
