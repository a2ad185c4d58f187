//! Table of idempotency records: the answer of each command, kept for as long as its key lives.

use std::sync::atomic::{AtomicU32, Ordering};

use domain::id::compose;
use domain::{Caller, EventId, Fingerprint, IdempotencyKey, Time};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::attempt::{Fate, fate};
use crate::command::Answer;
use crate::commit::Write;
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, from_item, number, to_item};

/// Absent, or past its time: TTL deletes late, so an expired record counts as absent everywhere.
const FREE: &str = "attribute_not_exists(caller_key) OR expires_at <= :now";

/// The table.
#[derive(Debug, Clone)]
pub struct IdempotencyKeys {
    table: String,
}

/// The stored answer of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    caller_key: String,
    /// The caller's subject.
    pub caller: String,
    /// The key.
    pub key: String,
    /// The request that the answer belongs to.
    pub fingerprint: Fingerprint,
    /// The answer's status.
    pub status: u16,
    /// The answer's body, byte for byte.
    pub body: String,
    /// The events that the command committed; none where it was refused. Their stories tell what became of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event_ids: Vec<EventId>,
    /// When it was stored.
    pub created_at: Time,
    /// Seconds since the epoch from which it counts as absent.
    pub expires_at: i64,
}

impl Record {
    /// Whether the record still answers. At exactly its expiry it no longer does.
    pub fn is_live(&self, now: Time) -> bool {
        self.expires_at > now.as_seconds()
    }

    /// The stored answer.
    pub fn answer(&self) -> Answer {
        Answer { status: self.status, body: self.body.clone() }
    }
}

impl IdempotencyKeys {
    /// The table of this name.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }

    /// The record's place: the key within its caller, so that nobody meets another caller's key.
    pub fn key(&self, caller: &Caller, key: &IdempotencyKey) -> Key {
        Key::new(&self.table, "caller_key", compose(&[&caller.issuer, &caller.subject, key.as_str()]))
    }

    /// A record of this answer, and of the events that were committed with it.
    pub fn record(
        &self,
        (caller, key): (&Caller, &IdempotencyKey),
        fingerprint: &Fingerprint,
        (answer, event_ids): (&Answer, Vec<EventId>),
        (now, expires): (Time, Time),
    ) -> Record {
        Record {
            caller_key: self.key(caller, key).hash.1,
            caller: caller.subject.clone(),
            key: key.as_str().to_owned(),
            fingerprint: fingerprint.clone(),
            status: answer.status,
            body: answer.body.clone(),
            event_ids,
            created_at: now,
            expires_at: expires.as_seconds(),
        }
    }

    /// Stores the record in a transaction, if the key is free.
    pub fn put(&self, record: &Record, now: Time) -> Result<Write, LedgerError> {
        let key = Key::new(&self.table, "caller_key", &record.caller_key);
        Write::put(key, to_item(record)?, FREE, [(":now", number(now.as_seconds()))])
    }

    /// Reads a stored item.
    pub fn parse(&self, item: Item) -> Result<Record, Corrupt> {
        from_item(&self.table, item)
    }

    /// The stored answer of a key, if it has one that still counts.
    pub async fn get(
        &self,
        ledger: &Ledger,
        caller: &Caller,
        key: &IdempotencyKey,
        now: Time,
    ) -> Result<Option<Record>, LedgerError> {
        let item = ledger.get(&self.key(caller, key)).await?;
        let record = item.map(|item| self.parse(item)).transpose()?;
        Ok(record.filter(|record| record.is_live(now)))
    }

    /// Forgets a key, if it has an answer that still counts; says whether it had.
    pub async fn evict(
        &self,
        ledger: &Ledger,
        caller: &Caller,
        key: &IdempotencyKey,
        now: Time,
    ) -> Result<bool, LedgerError> {
        let attempts = AtomicU32::new(0);
        ledger
            .attempt(|| async {
                attempts.fetch_add(1, Ordering::Relaxed);
                let delete = ledger
                    .client
                    .delete_item()
                    .table_name(&self.table)
                    .set_key(Some(self.key(caller, key).attributes()))
                    .condition_expression("expires_at > :now")
                    .expression_attribute_values(":now", number(now.as_seconds()));
                match delete.send().await {
                    Ok(_) => Fate::Done(true),
                    Err(error)
                        if error.as_service_error().is_some_and(|e| e.is_conditional_check_failed_exception()) =>
                    {
                        // On a later attempt it is gone because an earlier one, whose answer was lost, deleted it.
                        Fate::Done(attempts.load(Ordering::Relaxed) > 1)
                    }
                    Err(error) => fate(&error),
                }
            })
            .await
    }

    /// Stores the record on its own, if the key is free; otherwise gives back what stands there.
    ///
    /// A refusal has no transaction to ride in. When its put fails, somebody else's answer is there: replay it.
    pub async fn put_alone(&self, ledger: &Ledger, record: &Record, now: Time) -> Result<Option<Record>, LedgerError> {
        let item = to_item(record)?;
        let standing = ledger
            .attempt(|| async {
                let put = ledger
                    .client
                    .put_item()
                    .table_name(&self.table)
                    .set_item(Some(item.clone()))
                    .condition_expression(FREE)
                    .expression_attribute_values(":now", number(now.as_seconds()))
                    .return_values_on_condition_check_failure(
                        aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld,
                    );
                match put.send().await {
                    Ok(_) => Fate::Done(None),
                    Err(error) => match error.as_service_error().and_then(standing_item) {
                        Some(item) => Fate::Done(Some(item)),
                        None => fate(&error),
                    },
                }
            })
            .await?;
        standing.map(|item| self.parse(item)).transpose().map_err(LedgerError::from)
    }
}

fn standing_item(error: &aws_sdk_dynamodb::operation::put_item::PutItemError) -> Option<Item> {
    match error {
        aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(failed) => {
            failed.item().cloned()
        }
        _ => None,
    }
}
