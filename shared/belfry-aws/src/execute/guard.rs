//! What makes an execution happen once: the record of an idempotency key, or the processed mark of a consumer.

use belfry_core::commit::Expression;
use belfry_core::id::compose;
use belfry_core::item::{expiry, from_item, has_expired, number, text, text_of, to_item};
use belfry_core::{
    Caller, Corrupt, Event, EventId, Fingerprint, IdempotencyKey, Item, Place, Request, StoredResponse, Timestamp,
    Unwritable, Write,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::GuardedOutcome;
use crate::config::Config;
use crate::tables::{IDEMPOTENCY_KEYS, PROCESSED};
use crate::{Belfry, Error};

/// The attribute that names the execution that wrote a record or a mark.
const EXECUTION: &str = "execution";

/// Absent or expired. DynamoDB deletes late, so an expired record counts as absent everywhere.
const FREE: &str = "attribute_not_exists(#caller_key) OR #expires_at <= :now";

/// The record of an idempotency key: the response of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    caller_key: String,
    /// The caller's subject.
    pub caller: String,
    /// The key.
    pub key: String,
    /// The request that the response belongs to.
    pub fingerprint: Fingerprint,
    /// The status of the response.
    pub status: u16,
    /// The body of the response.
    pub body: String,
    /// The events that the command committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event_ids: Vec<EventId>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The second since the epoch from which on it counts as absent.
    pub expires_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    execution: Option<Uuid>,
}

/// The mark that a consumer has processed an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The consumer.
    pub consumer: String,
    /// The event.
    pub event_id: EventId,
    /// The queue that the event came from.
    pub source_queue: String,
    /// When.
    pub processed_at: Timestamp,
}

pub(crate) enum Guard<'a> {
    Key(&'a Request),
    Mark { consumer: &'a str, event: &'a Event, queue: &'a str },
    None,
}

fn key_place(caller: &Caller, key: &IdempotencyKey) -> Place {
    IDEMPOTENCY_KEYS.at(compose(&[&caller.issuer, &caller.subject, key.as_str()]))
}

fn mark_place(consumer: &str, event_id: &EventId) -> Place {
    PROCESSED.at(compose(&[consumer, event_id.as_str()]))
}

impl KeyRecord {
    fn parse(item: &Item) -> Result<Self, Corrupt> {
        from_item(IDEMPOTENCY_KEYS.name, item.clone())
    }

    fn response(&self) -> StoredResponse {
        StoredResponse::stored(self.status, self.body.clone())
    }
}

impl Guard<'_> {
    pub(super) fn place(&self) -> Option<Place> {
        match self {
            Self::Key(request) => Some(key_place(&request.caller, &request.key)),
            Self::Mark { consumer, event, .. } => Some(mark_place(consumer, &event.event_id)),
            Self::None => None,
        }
    }

    /// Whether the guard's item still counts.
    pub(super) fn is_live(&self, item: &Item, now: Timestamp) -> bool {
        match self {
            Self::Key(_) => !has_expired(item, now),
            Self::Mark { .. } | Self::None => true,
        }
    }

    /// The write that makes the execution happen once.
    pub(super) fn write(
        &self,
        config: &Config,
        now: Timestamp,
        execution: Uuid,
        response: Option<&StoredResponse>,
        event_ids: &[EventId],
    ) -> Result<Option<Write>, Error> {
        let Some(place) = self.place() else { return Ok(None) };
        match self {
            Self::Key(request) => {
                let response = response.ok_or_else(|| Unwritable("a command with a key has no response".to_owned()))?;
                let record = KeyRecord {
                    caller_key: place.key.to_string(),
                    caller: request.caller.subject.clone(),
                    key: request.key.as_str().to_owned(),
                    fingerprint: request.fingerprint.clone(),
                    status: response.status,
                    body: response.body.clone(),
                    event_ids: event_ids.to_vec(),
                    created_at: now,
                    expires_at: now.plus(config.key_ttl).as_seconds(),
                    execution: Some(execution),
                };
                let free = Expression::new(FREE, [(":now", number(now.as_seconds()))]);
                Ok(Some(Write::put(place, to_item(&record)?).when(free)))
            }
            Self::Mark { consumer, event, queue } => {
                let mark = Mark {
                    consumer: (*consumer).to_owned(),
                    event_id: event.event_id.clone(),
                    source_queue: (*queue).to_owned(),
                    processed_at: now,
                };
                let mut item = to_item(&mark)?;
                item.extend(place.attributes());
                item.insert(EXECUTION.to_owned(), text(execution));
                item.extend(expiry(now, Some(config.mark_retention)));
                Ok(Some(Write::create(place, item)))
            }
            Self::None => Ok(None),
        }
    }

    /// What the guard's item means: this execution after a lost response, or another one.
    pub(super) fn met(
        &self,
        item: &Item,
        execution: Uuid,
        response: Option<StoredResponse>,
        events: Vec<EventId>,
    ) -> Result<GuardedOutcome, Error> {
        let own = text_of(item, EXECUTION) == Some(&execution.to_string());
        match self {
            Self::Key(request) => {
                let record = KeyRecord::parse(item)?;
                Ok(if own {
                    let response = response.unwrap_or_else(|| record.response());
                    let events = if events.is_empty() { record.event_ids } else { events };
                    GuardedOutcome::Accepted { response: Some(response), events, dropped: 0 }
                } else if record.fingerprint == request.fingerprint {
                    GuardedOutcome::Replayed(record.response())
                } else {
                    GuardedOutcome::KeyConflict
                })
            }
            _ if own => Ok(GuardedOutcome::Accepted { response, events, dropped: 0 }),
            _ => Ok(GuardedOutcome::Duplicate),
        }
    }
}

impl Belfry {
    /// The record of a key, if there is one that has not expired.
    pub async fn key_record(&self, caller: &Caller, key: &IdempotencyKey) -> Result<Option<KeyRecord>, Error> {
        let item = self.get_item(&key_place(caller, key)).await?;
        let item = item.filter(|item| !has_expired(item, self.now()));
        Ok(item.as_ref().map(KeyRecord::parse).transpose()?)
    }

    /// Deletes the record of a key. Returns whether there was one that had not expired.
    pub async fn delete_key_record(&self, caller: &Caller, key: &IdempotencyKey) -> Result<bool, Error> {
        let live = Expression::new("#expires_at > :now", [(":now", number(self.now().as_seconds()))]);
        let place = key_place(caller, key);
        if self.key_record(caller, key).await?.is_none() {
            return Ok(false);
        }
        // Another operator, or an attempt of ours whose response was lost, may delete it first: it is gone either way.
        self.transact(&[Write::delete(place).when(live)], None).await?;
        Ok(true)
    }

    /// The mark that a consumer has processed an event.
    pub async fn mark(&self, consumer: &str, event_id: &EventId) -> Result<Option<Mark>, Error> {
        let item = self.get_item(&mark_place(consumer, event_id)).await?;
        Ok(item.map(|item| from_item(PROCESSED.name, item)).transpose()?)
    }

    /// The marks of these consumers for an event.
    pub async fn marks<'a>(
        &self,
        event_id: &EventId,
        consumers: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Mark>, Error> {
        let places: Vec<Place> = consumers.into_iter().map(|consumer| mark_place(consumer, event_id)).collect();
        let found = self.get_all(places.iter().cloned(), None).await?;
        let items = places.iter().filter_map(|place| found.0.get(place));
        Ok(items.map(|item| from_item(PROCESSED.name, item.clone())).collect::<Result<_, _>>()?)
    }
}
