//! The transaction: one `TransactWriteItems` that ends as committed or raced. A single write is a plain put, update or
//! delete under the same condition: as atomic, for half the write units.

use std::collections::HashMap;
use std::time::Instant;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete, Put, ReturnValue, TransactWriteItem, Update,
};
use belfry_core::commit::{Action, Condition, Expression};
use belfry_core::item::{number, text};
use belfry_core::{Item, Place, Timestamp, Unwritable, VERSION, Write};

use super::attempt::{AttemptOutcome, classify, classify_code};
use super::convert::{SdkItem, from_sdk, to_sdk, value_to_sdk};
use crate::{Belfry, Error};

/// How a transaction ended.
#[derive(Debug)]
pub enum Outcome {
    /// Everything is written.
    Committed,
    /// Nothing is written, because conditions failed.
    Raced(Raced),
}

/// The writes whose conditions failed, with the items that stand there.
#[derive(Debug, Default)]
pub struct Raced {
    pub(crate) standing: Vec<(Place, Option<Item>)>,
}

impl Raced {
    /// Whether the condition of this item's write failed.
    pub fn lost(&self, place: &Place) -> bool {
        self.standing.iter().any(|(lost, _)| lost == place)
    }

    /// The item that stands there, if its condition failed and it exists. `None` proves nothing: the item may be absent,
    /// or DynamoDB may not have looked at it.
    pub fn item(&self, place: &Place) -> Option<&Item> {
        self.standing.iter().find(|(lost, _)| lost == place).and_then(|(_, item)| item.as_ref())
    }

    /// Takes the optional writes that failed out of a transaction. Returns whether there were any.
    pub(crate) fn drop_existing(&self, writes: &mut Vec<Write>) -> bool {
        let before = writes.len();
        writes.retain(|write| !(write.optional && self.lost(&write.place)));
        writes.len() < before
    }
}

/// A write as the SDK wants it, its condition and the placeholders of both.
struct Prepared {
    table: String,
    key: SdkItem,
    condition: Option<String>,
    names: HashMap<String, String>,
    values: SdkItem,
}

impl Prepared {
    fn names(&self) -> Option<HashMap<String, String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    fn values(&self) -> Option<SdkItem> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }

    fn uses(&mut self, expression: &Expression) {
        self.names.extend(expression.names());
        self.values.extend(expression.values.iter().map(|(name, value)| (name.clone(), value_to_sdk(value.clone()))));
    }
}

impl Belfry {
    fn prepare(&self, write: &Write) -> Result<Prepared, Error> {
        let mut prepared = Prepared {
            table: self.0.config.tables.name(write.place.table)?,
            key: to_sdk(write.place.attributes()),
            condition: None,
            names: HashMap::new(),
            values: HashMap::new(),
        };
        prepared.condition = match &write.condition {
            Condition::Always => None,
            Condition::Absent => {
                prepared.names.insert("#key".to_owned(), write.place.table.hash.name.to_owned());
                Some("attribute_not_exists(#key)".to_owned())
            }
            Condition::Version(version) => {
                prepared.uses(&Expression::new(format!("#{VERSION}"), [(":before", number(version))]));
                Some(format!("#{VERSION} = :before"))
            }
            Condition::Expression(expression) => {
                prepared.uses(expression);
                Some(expression.text.clone())
            }
        };
        if let Action::Update(update) = &write.action {
            prepared.uses(update);
        }
        Ok(prepared)
    }

    /// Commits all writes or none. One round trip. Two write units per item and KiB; one for a single item.
    pub(crate) async fn transact(&self, writes: &[Write], deadline: Option<Instant>) -> Result<Outcome, Error> {
        match writes {
            [] => Ok(Outcome::Committed),
            [write] if !matches!(write.action, Action::Check) => self.write_alone(write, deadline).await,
            _ => self.write_together(writes, deadline).await,
        }
    }

    async fn write_together(&self, writes: &[Write], deadline: Option<Instant>) -> Result<Outcome, Error> {
        let prepared = writes.iter().map(|write| self.prepare(write)).collect::<Result<Vec<_>, _>>()?;
        let items = |now: Timestamp| -> Result<Vec<TransactWriteItem>, BuildError> {
            writes.iter().zip(&prepared).map(|(write, prepared)| transact_item(write, prepared, now)).collect()
        };
        self.attempt(deadline, || async {
            let items = match items(self.now()) {
                Ok(items) => items,
                Err(error) => return AttemptOutcome::Refused(error.to_string()),
            };
            match self.0.dynamodb.transact_write_items().set_transact_items(Some(items)).send().await {
                Ok(_) => AttemptOutcome::Done(Outcome::Committed),
                Err(error) => match error.as_service_error() {
                    Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                        cancelled_by(writes, cancelled.cancellation_reasons())
                    }
                    _ => classify(&error),
                },
            }
        })
        .await
    }

    async fn write_alone(&self, write: &Write, deadline: Option<Instant>) -> Result<Outcome, Error> {
        let prepared = self.prepare(write)?;
        let client = &self.0.dynamodb;
        self.attempt(deadline, || async {
            let Prepared { table, key, condition, .. } = &prepared;
            let (key, condition) = (Some(key.clone()), condition.clone());
            match &write.action {
                Action::Put(item) => {
                    let request = client
                        .put_item()
                        .table_name(table)
                        .set_item(Some(to_sdk(stamped(item, write.stamped, self.now()))))
                        .set_condition_expression(condition)
                        .set_expression_attribute_names(prepared.names())
                        .set_expression_attribute_values(prepared.values())
                        .return_values_on_condition_check_failure(AllOld);
                    match request.send().await {
                        Ok(_) => AttemptOutcome::Done(Outcome::Committed),
                        Err(error) => match error.as_service_error() {
                            Some(PutItemError::ConditionalCheckFailedException(failed)) => lost(&write.place, failed),
                            _ => classify(&error),
                        },
                    }
                }
                Action::Update(update) => {
                    let request = client
                        .update_item()
                        .table_name(table)
                        .set_key(key)
                        .update_expression(&update.text)
                        .set_condition_expression(condition)
                        .set_expression_attribute_names(prepared.names())
                        .set_expression_attribute_values(prepared.values())
                        .return_values_on_condition_check_failure(AllOld);
                    match request.send().await {
                        Ok(_) => AttemptOutcome::Done(Outcome::Committed),
                        Err(error) => match error.as_service_error() {
                            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                                lost(&write.place, failed)
                            }
                            _ => classify(&error),
                        },
                    }
                }
                Action::Delete | Action::Check => {
                    let request = client
                        .delete_item()
                        .table_name(table)
                        .set_key(key)
                        .set_condition_expression(condition)
                        .set_expression_attribute_names(prepared.names())
                        .set_expression_attribute_values(prepared.values())
                        .return_values_on_condition_check_failure(AllOld);
                    match request.send().await {
                        Ok(_) => AttemptOutcome::Done(Outcome::Committed),
                        Err(error) => match error.as_service_error() {
                            Some(DeleteItemError::ConditionalCheckFailedException(failed)) => {
                                lost(&write.place, failed)
                            }
                            _ => classify(&error),
                        },
                    }
                }
            }
        })
        .await
    }

    /// Runs one update by itself and returns the item as it then is, or `None` if the condition failed. One round trip.
    ///
    /// After a lost response the update runs again: write conditions that still hold then, or that recognise it.
    pub async fn update(&self, update: &Write) -> Result<Option<Item>, Error> {
        let prepared = self.prepare(update)?;
        let Action::Update(expression) = &update.action else {
            return Err(Unwritable(format!("{} is not an update", update.place)).into());
        };
        self.attempt(None, || async {
            let request = self
                .0
                .dynamodb
                .update_item()
                .table_name(&prepared.table)
                .set_key(Some(prepared.key.clone()))
                .update_expression(&expression.text)
                .set_condition_expression(prepared.condition.clone())
                .set_expression_attribute_names(prepared.names())
                .set_expression_attribute_values(prepared.values())
                .return_values(ReturnValue::AllNew);
            match request.send().await {
                Ok(output) => AttemptOutcome::Done(Some(from_sdk(output.attributes.unwrap_or_default()))),
                Err(error) => match error.as_service_error() {
                    Some(UpdateItemError::ConditionalCheckFailedException(_)) => AttemptOutcome::Done(None),
                    _ => classify(&error),
                },
            }
        })
        .await
    }
}

fn stamped(item: &Item, attributes: &[&str], now: Timestamp) -> Item {
    let mut item = item.clone();
    item.extend(attributes.iter().map(|attribute| ((*attribute).to_owned(), text(now))));
    item
}

fn transact_item(write: &Write, prepared: &Prepared, now: Timestamp) -> Result<TransactWriteItem, BuildError> {
    let Prepared { table, key, condition, .. } = prepared;
    let (key, condition) = (Some(key.clone()), condition.clone());
    let item = TransactWriteItem::builder();
    let item = match &write.action {
        Action::Put(row) => item.put(
            Put::builder()
                .table_name(table)
                .set_item(Some(to_sdk(stamped(row, write.stamped, now))))
                .set_condition_expression(condition)
                .set_expression_attribute_names(prepared.names())
                .set_expression_attribute_values(prepared.values())
                .return_values_on_condition_check_failure(AllOld)
                .build()?,
        ),
        Action::Update(update) => item.update(
            Update::builder()
                .table_name(table)
                .set_key(key)
                .update_expression(&update.text)
                .set_condition_expression(condition)
                .set_expression_attribute_names(prepared.names())
                .set_expression_attribute_values(prepared.values())
                .return_values_on_condition_check_failure(AllOld)
                .build()?,
        ),
        Action::Delete => item.delete(
            Delete::builder()
                .table_name(table)
                .set_key(key)
                .set_condition_expression(condition)
                .set_expression_attribute_names(prepared.names())
                .set_expression_attribute_values(prepared.values())
                .return_values_on_condition_check_failure(AllOld)
                .build()?,
        ),
        Action::Check => item.condition_check(
            ConditionCheck::builder()
                .table_name(table)
                .set_key(key)
                .set_condition_expression(condition)
                .set_expression_attribute_names(prepared.names())
                .set_expression_attribute_values(prepared.values())
                .return_values_on_condition_check_failure(AllOld)
                .build()?,
        ),
    };
    Ok(item.build())
}

/// The condition of a single write failed.
fn lost(place: &Place, failed: &ConditionalCheckFailedException) -> AttemptOutcome<Outcome> {
    let standing = vec![(place.clone(), failed.item().cloned().map(from_sdk))];
    AttemptOutcome::Done(Outcome::Raced(Raced { standing }))
}

/// A failed condition decides, whatever else was in the way: the caller has to look again anyway.
fn cancelled_by(writes: &[Write], reasons: &[CancellationReason]) -> AttemptOutcome<Outcome> {
    let standing: Vec<_> = writes
        .iter()
        .zip(reasons)
        .filter(|(_, reason)| reason.code() == Some("ConditionalCheckFailed"))
        .map(|(write, reason)| (write.place.clone(), reason.item().cloned().map(from_sdk)))
        .collect();
    if !standing.is_empty() {
        return AttemptOutcome::Done(Outcome::Raced(Raced { standing }));
    }
    let reason = reasons.iter().find(|reason| !matches!(reason.code(), None | Some("None")));
    classify_code(reason.and_then(CancellationReason::code), reason.and_then(CancellationReason::message))
}

#[cfg(test)]
mod tests {
    use belfry_core::Table;

    use super::*;

    const TABLE: Table = Table::new("t", "id");

    fn write(id: &str) -> Write {
        let place = TABLE.at(id);
        Write::create(place.clone(), place.attributes())
    }

    fn reason(code: &str) -> CancellationReason {
        CancellationReason::builder().code(code).build()
    }

    #[test]
    fn a_failed_condition_returns_the_item_that_stands_there() {
        let standing = TABLE.at("b").attributes();
        let failed = CancellationReason::builder()
            .code("ConditionalCheckFailed")
            .set_item(Some(to_sdk(standing.clone())))
            .build();
        let AttemptOutcome::Done(Outcome::Raced(raced)) =
            cancelled_by(&[write("a"), write("b")], &[reason("None"), failed])
        else {
            panic!("not a race")
        };
        assert!(!raced.lost(&TABLE.at("a")));
        assert_eq!(raced.item(&TABLE.at("b")), Some(&standing));
    }

    #[test]
    fn a_failed_condition_outweighs_a_conflict() {
        let reasons = [reason("TransactionConflict"), reason("ConditionalCheckFailed")];
        let outcome = cancelled_by(&[write("a"), write("b")], &reasons);
        assert!(matches!(outcome, AttemptOutcome::Done(Outcome::Raced(_))));
    }

    #[test]
    fn conflicts_and_throttling_are_retried_and_bad_items_are_not() {
        let outcome = |code| cancelled_by(&[write("a")], &[reason(code)]);
        assert!(matches!(outcome("TransactionConflict"), AttemptOutcome::Conflict));
        assert!(matches!(outcome("ThrottlingError"), AttemptOutcome::Unavailable(_)));
        assert!(matches!(outcome("ProvisionedThroughputExceeded"), AttemptOutcome::Unavailable(_)));
        assert!(matches!(outcome("ValidationError"), AttemptOutcome::Refused(_)));
        assert!(matches!(outcome("ItemCollectionSizeLimitExceeded"), AttemptOutcome::Refused(_)));
    }
}
