//! The transaction: one `TransactWriteItems`, answered with `Committed` or `Raced`. One write alone is a plain put or
//! update under the same condition: all or nothing as well, for half the write units.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, Delete, Put, ReturnValue, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};

use crate::Ledger;
use crate::attempt::{Fate, fate, fate_of_code};
use crate::error::LedgerError;
use crate::item::{Item, Key};

/// One item of a transaction, with the condition under which it may be written.
#[derive(Debug, Clone)]
pub struct Write {
    pub(crate) key: Key,
    item: TransactWriteItem,
    optional: bool,
}

/// How a transaction ended.
#[derive(Debug)]
pub enum Outcome {
    /// All of it is written.
    Committed,
    /// None of it is written: somebody else was first.
    Raced(Raced),
}

/// What stood in the way of a transaction: the items whose conditions failed, as they stand.
#[derive(Debug)]
pub struct Raced {
    standing: Vec<(Key, Option<Item>)>,
}

impl Raced {
    /// Whether this item's condition failed.
    pub fn lost(&self, key: &Key) -> bool {
        self.standing.iter().any(|(lost, _)| lost == key)
    }

    /// Takes the rows that exist already out of a transaction that can go on without them; says whether there
    /// were any. DynamoDB cancels the whole for one such row, and an unconditional put would overwrite it.
    pub fn drop_existing(&self, writes: &mut Vec<Write>) -> bool {
        let before = writes.len();
        writes.retain(|write| !(write.optional && self.lost(&write.key)));
        writes.len() < before
    }

    /// The item as it stands, if its condition failed and it exists. `None` proves nothing: DynamoDB need not
    /// have looked at this item, or it may be absent.
    pub fn standing(&self, key: &Key) -> Option<&Item> {
        self.standing.iter().find(|(lost, _)| lost == key).and_then(|(_, item)| item.as_ref())
    }
}

impl Write {
    /// Puts an item under a condition; `values` are the condition's `:placeholders`.
    pub(crate) fn put(
        key: Key,
        item: Item,
        condition: &str,
        values: impl IntoIterator<Item = (&'static str, AttributeValue)>,
    ) -> Result<Self, LedgerError> {
        let values: HashMap<_, _> = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let put = Put::builder()
            .table_name(&key.table)
            .set_item(Some(item))
            .condition_expression(condition)
            .set_expression_attribute_values((!values.is_empty()).then_some(values))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map_err(|error| LedgerError::Unwritable(error.to_string()))?;
        Ok(Self { key, item: TransactWriteItem::builder().put(put).build(), optional: false })
    }

    /// Changes an item under a condition.
    pub(crate) fn update(key: Key, change: &Change) -> Result<Self, LedgerError> {
        let update = Update::builder()
            .table_name(&key.table)
            .set_key(Some(key.attributes()))
            .update_expression(&change.expression)
            .condition_expression(&change.condition)
            .set_expression_attribute_names(change.names())
            .set_expression_attribute_values(Some(change.values()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map_err(|error| LedgerError::Unwritable(error.to_string()))?;
        Ok(Self { key, item: TransactWriteItem::builder().update(update).build(), optional: false })
    }

    /// Puts an item in place of whatever stands there.
    pub(crate) fn replace(key: Key, item: Item) -> Result<Self, LedgerError> {
        let put = Put::builder().table_name(&key.table).set_item(Some(item)).build();
        let put = put.map_err(|error| LedgerError::Unwritable(error.to_string()))?;
        Ok(Self { key, item: TransactWriteItem::builder().put(put).build(), optional: false })
    }

    /// Deletes an item, under a condition where there is one.
    pub(crate) fn delete(
        key: Key,
        condition: Option<(&str, Vec<(&'static str, AttributeValue)>)>,
    ) -> Result<Self, LedgerError> {
        let (condition, values) = condition.map(|(text, values)| (text.to_owned(), values)).unzip();
        let values = values.map(|all| all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        let delete = Delete::builder()
            .table_name(&key.table)
            .set_key(Some(key.attributes()))
            .set_condition_expression(condition)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map_err(|error| LedgerError::Unwritable(error.to_string()))?;
        Ok(Self { key, item: TransactWriteItem::builder().delete(delete).build(), optional: false })
    }

    /// Puts an item that must not exist yet.
    pub(crate) fn create(key: Key, item: Item) -> Result<Self, LedgerError> {
        let condition = format!("attribute_not_exists({})", key.hash.0);
        Self::put(key, item, &condition, [])
    }

    /// Marks the write as one that the rest of its transaction can go on without: where its row exists already,
    /// the second insert is swallowed.
    #[must_use]
    pub fn or_leave(mut self) -> Self {
        self.optional = true;
        self
    }

    /// The item that is written.
    pub fn key(&self) -> &Key {
        &self.key
    }
}

/// A change of one item: what, under which condition, and the values of both. A word after `#` is an attribute's name.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// The update expression.
    pub expression: String,
    /// The condition.
    pub condition: String,
    /// The `:placeholders` of both.
    pub values: Vec<(&'static str, AttributeValue)>,
}

impl Change {
    /// Every word after `#`, of which any may be one that DynamoDB reserves.
    pub(crate) fn names(&self) -> Option<HashMap<String, String>> {
        let texts = [&self.expression, &self.condition].into_iter();
        let words = texts
            .flat_map(|text| text.split('#').skip(1))
            .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default());
        let names: HashMap<_, _> = words.map(|word| (format!("#{word}"), word.to_owned())).collect();
        (!names.is_empty()).then_some(names)
    }

    pub(crate) fn values(&self) -> HashMap<String, AttributeValue> {
        self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }
}

impl Ledger {
    /// Changes one item alone; hands it back as it stands then, or `None` where the condition failed. One round trip.
    pub(crate) async fn change(&self, key: &Key, change: &Change) -> Result<Option<Item>, LedgerError> {
        self.attempt(|| async {
            let request = self
                .client
                .update_item()
                .table_name(&key.table)
                .set_key(Some(key.attributes()))
                .update_expression(&change.expression)
                .condition_expression(&change.condition)
                .set_expression_attribute_names(change.names())
                .set_expression_attribute_values(Some(change.values()))
                .return_values(ReturnValue::AllNew);
            match request.send().await {
                Ok(output) => Fate::Done(Some(output.attributes.unwrap_or_default())),
                Err(error) if error.as_service_error().is_some_and(|e| e.is_conditional_check_failed_exception()) => {
                    Fate::Done(None)
                }
                Err(error) => fate(&error),
            }
        })
        .await
    }

    /// Writes all or nothing. One round trip, two write units per item and KiB; one for an item alone.
    pub async fn commit(&self, writes: &[Write]) -> Result<Outcome, LedgerError> {
        self.attempt(|| async {
            match writes {
                [write] => match write.item.clone() {
                    TransactWriteItem { put: Some(put), .. } => self.put_alone(&write.key, put).await,
                    TransactWriteItem { update: Some(update), .. } => self.update_alone(&write.key, update).await,
                    other => self.together(writes, vec![other]).await,
                },
                _ => self.together(writes, writes.iter().map(|write| write.item.clone()).collect()).await,
            }
        })
        .await
    }

    async fn together(&self, writes: &[Write], items: Vec<TransactWriteItem>) -> Fate<Outcome> {
        match self.client.transact_write_items().set_transact_items(Some(items)).send().await {
            Ok(_) => Fate::Done(Outcome::Committed),
            Err(error) => outcome_of(writes, &error),
        }
    }

    async fn put_alone(&self, key: &Key, put: Put) -> Fate<Outcome> {
        let request = self
            .client
            .put_item()
            .table_name(put.table_name)
            .set_item(Some(put.item))
            .set_condition_expression(put.condition_expression)
            .set_expression_attribute_names(put.expression_attribute_names)
            .set_expression_attribute_values(put.expression_attribute_values)
            .set_return_values_on_condition_check_failure(put.return_values_on_condition_check_failure);
        match request.send().await {
            Ok(_) => Fate::Done(Outcome::Committed),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failed)) => lost_to(key, failed),
                _ => fate(&error),
            },
        }
    }

    async fn update_alone(&self, key: &Key, update: Update) -> Fate<Outcome> {
        let request = self
            .client
            .update_item()
            .table_name(update.table_name)
            .set_key(Some(update.key))
            .update_expression(update.update_expression)
            .set_condition_expression(update.condition_expression)
            .set_expression_attribute_names(update.expression_attribute_names)
            .set_expression_attribute_values(update.expression_attribute_values)
            .set_return_values_on_condition_check_failure(update.return_values_on_condition_check_failure);
        match request.send().await {
            Ok(_) => Fate::Done(Outcome::Committed),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => lost_to(key, failed),
                _ => fate(&error),
            },
        }
    }
}

/// The condition of a write alone failed.
fn lost_to(key: &Key, failed: &ConditionalCheckFailedException) -> Fate<Outcome> {
    Fate::Done(Outcome::Raced(Raced { standing: vec![(key.clone(), failed.item().cloned())] }))
}

fn outcome_of<R: std::fmt::Debug + 'static>(
    writes: &[Write],
    error: &SdkError<TransactWriteItemsError, R>,
) -> Fate<Outcome> {
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
            raced(writes, cancelled.cancellation_reasons())
        }
        _ => fate(error),
    }
}

/// A failed condition decides, whatever else was in the way: the caller has to look again anyhow.
fn raced(writes: &[Write], reasons: &[CancellationReason]) -> Fate<Outcome> {
    let standing: Vec<_> = writes
        .iter()
        .zip(reasons)
        .filter(|(_, reason)| reason.code() == Some("ConditionalCheckFailed"))
        .map(|(write, reason)| (write.key.clone(), reason.item().cloned()))
        .collect();
    if !standing.is_empty() {
        return Fate::Done(Outcome::Raced(Raced { standing }));
    }
    let reason = reasons.iter().find(|reason| !matches!(reason.code(), None | Some("None")));
    fate_of_code(reason.and_then(CancellationReason::code), reason.and_then(CancellationReason::message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::text;

    fn write(id: &str) -> Write {
        let key = Key::new("t", "id", id);
        Write::create(key.clone(), key.attributes()).expect("a write")
    }

    fn reason(code: &str) -> CancellationReason {
        CancellationReason::builder().code(code).build()
    }

    #[test]
    fn a_failed_condition_is_a_race_and_hands_back_what_stands_there() {
        let standing = Item::from([("id".to_owned(), text("b"))]);
        let failed =
            CancellationReason::builder().code("ConditionalCheckFailed").set_item(Some(standing.clone())).build();
        let fate = raced(&[write("a"), write("b")], &[reason("None"), failed]);
        let Fate::Done(Outcome::Raced(raced)) = fate else { panic!("not a race") };
        assert!(!raced.lost(write("a").key()));
        assert_eq!(raced.standing(write("b").key()), Some(&standing));
    }

    #[test]
    fn a_failed_condition_decides_over_a_conflict() {
        let fate = raced(&[write("a"), write("b")], &[reason("TransactionConflict"), reason("ConditionalCheckFailed")]);
        assert!(matches!(fate, Fate::Done(Outcome::Raced(_))));
    }

    #[test]
    fn conflicts_and_throttling_are_tried_again_and_bad_items_are_not() {
        let fate = |code| raced(&[write("a")], &[reason(code)]);
        assert!(matches!(fate("TransactionConflict"), Fate::Conflict));
        assert!(matches!(fate("ThrottlingError"), Fate::Unavailable(_)));
        assert!(matches!(fate("ProvisionedThroughputExceeded"), Fate::Unavailable(_)));
        assert!(matches!(fate("ValidationError"), Fate::Refused(_)));
        assert!(matches!(fate("ItemCollectionSizeLimitExceeded"), Fate::Refused(_)));
    }
}
