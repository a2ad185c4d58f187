//! Consistent reads: one item, several items in one call, one page of a partition.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};

use crate::Ledger;
use crate::attempt::{Fate, fate};
use crate::error::LedgerError;
use crate::item::{Item, Key, text};

/// DynamoDB reads at most this many items at once.
const BATCH: usize = 100;

/// The items that a batch read found.
#[derive(Debug, Default)]
pub struct Found {
    items: HashMap<Key, Item>,
}

impl Found {
    /// The item of this key, if there is one.
    pub fn get(&self, key: &Key) -> Option<&Item> {
        self.items.get(key)
    }

    pub(crate) fn insert(&mut self, key: Key, item: Item) {
        self.items.insert(key, item);
    }
}

/// One page of a list, and where the next one begins.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The sort key of the last row, if there may be more behind it.
    pub next: Option<String>,
}

/// A query of one partition.
pub(crate) struct Query<'a> {
    /// The partition.
    pub partition: Key,
    /// The sort key's name.
    pub sort: &'static str,
    /// Begin behind this sort key.
    pub after: Option<&'a str>,
    /// Newest (highest sort key) first.
    pub descending: bool,
    /// At most this many rows.
    pub limit: u16,
}

/// A query of one partition of a sparse index that says when something is due.
pub(crate) struct DueQuery<'a> {
    /// The table.
    pub table: &'a str,
    /// The index, which is called like its hash key, and the partition.
    pub index: (&'static str, &'a str),
    /// Due from and until, both included.
    pub between: (&'a str, &'a str),
    /// At most this many a call.
    pub limit: u16,
}

/// What to look for in one partition of a local index.
pub(crate) struct Filter<'a> {
    /// The partition.
    pub partition: Key,
    /// The index.
    pub index: &'a str,
    /// The name of the index's sort key.
    pub sort: &'static str,
    /// Begin behind this value of it.
    pub after: Option<String>,
    /// What an item must fulfil.
    pub condition: &'a str,
    /// The `:placeholders` of the condition.
    pub values: Vec<(&'static str, AttributeValue)>,
    /// The attributes to hand back.
    pub attributes: &'a [&'static str],
}

impl Ledger {
    /// One item, as it stands now.
    pub async fn get(&self, key: &Key) -> Result<Option<Item>, LedgerError> {
        self.attempt(|| async {
            let get =
                self.client.get_item().table_name(&key.table).set_key(Some(key.attributes())).consistent_read(true);
            match get.send().await {
                Ok(output) => Fate::Done(output.item),
                Err(error) => fate(&error),
            }
        })
        .await
    }

    /// Several items of any tables, each as it stands now: one round trip for each 100 of them.
    pub async fn get_all(&self, keys: &[Key]) -> Result<Found, LedgerError> {
        let mut found = Found::default();
        for keys in keys.chunks(BATCH) {
            self.get_batch(keys, &mut found).await?;
        }
        Ok(found)
    }

    async fn get_batch(&self, keys: &[Key], found: &mut Found) -> Result<(), LedgerError> {
        let mut wanted: HashMap<String, KeysAndAttributes> = HashMap::new();
        for key in keys {
            let of_table = wanted.remove(&key.table).map_or_else(Vec::new, |of_table| of_table.keys);
            let of_table = KeysAndAttributes::builder()
                .set_keys(Some(of_table))
                .keys(key.attributes())
                .consistent_read(true)
                .build()
                .map_err(|error| LedgerError::Unwritable(error.to_string()))?;
            wanted.insert(key.table.clone(), of_table);
        }
        // DynamoDB hands part of the keys back as unprocessed when it throttles.
        for round in 1..=self.patience.attempts {
            let output = self
                .attempt(|| async {
                    match self.client.batch_get_item().set_request_items(Some(wanted.clone())).send().await {
                        Ok(output) => Fate::Done(output),
                        Err(error) => fate(&error),
                    }
                })
                .await?;
            for (table, items) in output.responses.unwrap_or_default() {
                for item in items {
                    if let Some(key) = keys.iter().find(|key| key.table == table && key.is_of(&item)) {
                        found.insert(key.clone(), item);
                    }
                }
            }
            wanted = output.unprocessed_keys.unwrap_or_default();
            if wanted.is_empty() {
                return Ok(());
            }
            self.patience.wait(round).await;
        }
        Err(LedgerError::Unavailable { attempts: self.patience.attempts, reason: "keys stay unprocessed".to_owned() })
    }

    /// One page of a partition, as it stands now.
    pub(crate) async fn query(&self, query: &Query<'_>) -> Result<Page<Item>, LedgerError> {
        let (hash, value) = &query.partition.hash;
        let start = query.after.map(|after| query.partition.clone().and(query.sort, after).attributes());
        self.attempt(|| async {
            let request = self
                .client
                .query()
                .table_name(&query.partition.table)
                .key_condition_expression("#hash = :hash")
                .expression_attribute_names("#hash", *hash)
                .expression_attribute_values(":hash", AttributeValue::S(value.clone()))
                .set_exclusive_start_key(start.clone())
                .scan_index_forward(!query.descending)
                .consistent_read(true)
                .limit(i32::from(query.limit));
            match request.send().await {
                Ok(output) => {
                    let next = output.last_evaluated_key.as_ref().and_then(|key| key.get(query.sort));
                    let next = next.and_then(|value| value.as_s().ok()).cloned();
                    Fate::Done(Page { rows: output.items.unwrap_or_default(), next })
                }
                Err(error) => fate(&error),
            }
        })
        .await
    }

    /// What is due in one partition of an index, soonest first: at least `limit` items, if there are so many.
    pub(crate) async fn due(&self, query: DueQuery<'_>) -> Result<Vec<Item>, LedgerError> {
        self.due_until(&query, |found| found.len() >= query.limit.into()).await
    }

    /// The same until `enough`.
    pub(crate) async fn due_until(
        &self,
        query: &DueQuery<'_>,
        enough: impl Fn(&[Item]) -> bool,
    ) -> Result<Vec<Item>, LedgerError> {
        let (index, partition) = query.index;
        let mut found: Vec<Item> = Vec::new();
        let mut start: Option<Item> = None;
        loop {
            let (items, next) = self
                .attempt(|| async {
                    let request = self
                        .client
                        .query()
                        .table_name(query.table)
                        .index_name(index)
                        .key_condition_expression("#index = :partition AND due_at BETWEEN :low AND :high")
                        .expression_attribute_names("#index", index)
                        .expression_attribute_values(":partition", text(partition))
                        .expression_attribute_values(":low", text(query.between.0))
                        .expression_attribute_values(":high", text(query.between.1))
                        .set_exclusive_start_key(start.clone())
                        .limit(i32::from(query.limit));
                    match request.send().await {
                        Ok(output) => Fate::Done((output.items.unwrap_or_default(), output.last_evaluated_key)),
                        Err(error) => fate(&error),
                    }
                })
                .await?;
            found.extend(items);
            start = next;
            if start.is_none() || enough(&found) {
                return Ok(found);
            }
        }
    }

    /// These attributes of every item of a partition that fulfils a condition, as it stands now. One round trip per MiB of
    /// the partition.
    pub(crate) async fn matching(&self, filter: &Filter<'_>) -> Result<Vec<Item>, LedgerError> {
        let (hash, value) = &filter.partition.hash;
        // Any of them may be a word that DynamoDB reserves.
        let names: Vec<String> = filter.attributes.iter().map(|name| format!("#{name}")).collect();
        let keys = if filter.after.is_some() { "#hash = :hash AND #sort > :after" } else { "#hash = :hash" };
        let mut items = Vec::new();
        let mut start = None;
        loop {
            let (found, next) = self
                .attempt(|| async {
                    let mut request = self
                        .client
                        .query()
                        .table_name(&filter.partition.table)
                        .index_name(filter.index)
                        .key_condition_expression(keys)
                        .filter_expression(filter.condition)
                        .projection_expression(names.join(", "))
                        .expression_attribute_names("#hash", *hash)
                        .expression_attribute_values(":hash", AttributeValue::S(value.clone()))
                        .set_exclusive_start_key(start.clone())
                        .consistent_read(true);
                    if let Some(after) = &filter.after {
                        request = request
                            .expression_attribute_names("#sort", filter.sort)
                            .expression_attribute_values(":after", AttributeValue::S(after.clone()));
                    }
                    for (alias, name) in names.iter().zip(filter.attributes) {
                        request = request.expression_attribute_names(alias, *name);
                    }
                    for (name, value) in &filter.values {
                        request = request.expression_attribute_values(*name, value.clone());
                    }
                    match request.send().await {
                        Ok(output) => Fate::Done((output.items.unwrap_or_default(), output.last_evaluated_key)),
                        Err(error) => fate(&error),
                    }
                })
                .await?;
            items.extend(found);
            if next.is_none() {
                return Ok(items);
            }
            start = next;
        }
    }
}
