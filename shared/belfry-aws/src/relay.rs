//! The relay: from the stream of the events table to the queues that each entry names, then PUBLISHED.
//!
//! Reads the batch's entries in one consistent batch get: to leave alone what a redelivered batch has published already,
//! and to know which queues already have an entry. Writes one message per event and destination, then PUBLISHED once all of
//! them acknowledged.
//!
//! Records are handled singly, and no order is assumed. A queue that is unavailable stops the batch at its first record
//! that did not get out, and Lambda retries from there. A record that a queue refuses, or that cannot be read, holds up
//! nobody: it goes to the sweeper or to an operator. A crash leaves at worst a second message, which consumers skip.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::task::Poll;
use std::time::Duration;

use aws_lambda_events::dynamodb::{Event as StreamEvent, EventRecord};
use aws_lambda_events::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use belfry_core::{Corrupt, EventId, Item};
use futures_util::future::{BoxFuture, join_all};
use lambda_runtime::LambdaEvent;

use crate::metrics::Relayed;
use crate::outbox::{
    self, Holder, Publication, PublishState, Published, SendError, StoredEvent, Unpublished, UnpublishedOutcome,
};
use crate::{Belfry, Error};

/// The relay of the outbox, as a Lambda handler.
#[derive(Debug, Clone)]
pub struct Relay {
    belfry: Belfry,
}

/// The relay of the outbox. Put it behind the stream of the events table.
pub fn relay(belfry: &Belfry) -> Relay {
    Relay { belfry: belfry.clone() }
}

/// A record of the stream, as far as it can be read.
#[derive(Debug)]
enum Record {
    Readable(Box<StoredEvent>),
    Unreadable { event_id: EventId, problem: Corrupt },
    WithoutId,
}

/// How a record ended.
#[derive(Debug)]
enum RecordOutcome {
    /// Every destination has it, this long after its commit.
    Published(Duration),
    /// It was PUBLISHED already.
    Skipped,
    /// It was not the relay's to publish.
    NotOurs,
    /// The sweeper or an operator takes over.
    HandedOver { failed: bool },
    /// It did not get out, and Lambda has to retry.
    Stuck(String),
}

impl tower::Service<LambdaEvent<StreamEvent>> for Relay {
    type Response = DynamoDbEventResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<DynamoDbEventResponse, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, event: LambdaEvent<StreamEvent>) -> Self::Future {
        let relay = self.clone();
        Box::pin(async move { Ok(relay.batch(&event.payload.records).await) })
    }
}

impl Relay {
    /// Relays one batch.
    pub async fn batch(&self, records: &[EventRecord]) -> DynamoDbEventResponse {
        let outcomes = match self.relay(records).await {
            Ok(outcomes) => outcomes,
            Err(error) => vec![RecordOutcome::Stuck(error.to_string())],
        };
        let mut response = DynamoDbEventResponse::default();
        let mut relayed = Relayed::default();
        for (record, outcome) in records.iter().zip(outcomes) {
            match outcome {
                RecordOutcome::Published(lag) => {
                    relayed.published += 1;
                    relayed.lag.push(lag);
                }
                RecordOutcome::Skipped => relayed.skipped += 1,
                RecordOutcome::NotOurs => {}
                RecordOutcome::HandedOver { failed } => {
                    relayed.unpublished += 1;
                    relayed.failed += u32::from(failed);
                }
                RecordOutcome::Stuck(reason) => {
                    relayed.unpublished += 1;
                    if response.batch_item_failures.is_empty() {
                        let record_id = record.event_id.as_str();
                        tracing::warn!(record_id, reason, "batch stopped; Lambda retries from this record");
                        let mut failure = DynamoDbBatchItemFailure::default();
                        failure.item_identifier = record.change.sequence_number.clone();
                        response.batch_item_failures.push(failure);
                    }
                }
            }
        }
        self.belfry.metrics().relayed("stream", &relayed);
        response
    }

    /// What became of each record, in order.
    async fn relay(&self, records: &[EventRecord]) -> Result<Vec<RecordOutcome>, Error> {
        let records: Vec<Record> = records.iter().map(read).collect();
        let readable: Vec<&StoredEvent> = records.iter().filter_map(Record::stored).collect();
        let event_ids: Vec<EventId> = readable.iter().map(|stored| stored.event.event_id.clone()).collect();
        let states = self.belfry.publish_states(&event_ids).await?;
        let published_before: BTreeSet<&EventId> = event_ids
            .iter()
            .zip(&states)
            .filter(|(_, state)| **state == PublishState::Published)
            .map(|(id, _)| id)
            .collect();
        // The map also folds an event that occurs twice in one batch into one.
        let open: BTreeMap<&EventId, (&StoredEvent, &BTreeSet<String>)> = readable
            .iter()
            .zip(&states)
            .filter_map(|(stored, state)| match state {
                PublishState::Open { delivered_to } => Some((&stored.event.event_id, (*stored, delivered_to))),
                PublishState::Published | PublishState::NotForTheRelay => None,
            })
            .collect();
        let publications: Vec<Publication<'_>> =
            open.values().map(|(stored, delivered_to)| Publication { stored, delivered_to }).collect();
        let published: BTreeMap<&EventId, Published> =
            open.keys().copied().zip(self.belfry.publish(&publications).await).collect();
        let first_unavailable = readable
            .iter()
            .map(|stored| &stored.event.event_id)
            .find(|id| matches!(published.get(id), Some(Published { outcome: Err(SendError::Unavailable(_)), .. })));
        let outcomes = records.iter().map(|record| async {
            let outcome = match record {
                Record::Readable(stored) => {
                    let event_id = &stored.event.event_id;
                    match (open.get(event_id), published.get(event_id)) {
                        (Some((_, before)), Some(published)) => {
                            let is_first = first_unavailable == Some(event_id);
                            self.finish(stored, published, before, is_first).await
                        }
                        _ if published_before.contains(event_id) => Ok(RecordOutcome::Skipped),
                        _ => Ok(RecordOutcome::NotOurs),
                    }
                }
                Record::Unreadable { event_id, problem } => self.give_up(event_id, problem).await,
                Record::WithoutId => {
                    tracing::error!("stream record without an event id");
                    Ok(RecordOutcome::NotOurs)
                }
            };
            outcome.unwrap_or_else(|error| RecordOutcome::Stuck(error.to_string()))
        });
        Ok(join_all(outcomes).await)
    }

    async fn finish(
        &self,
        stored: &StoredEvent,
        published: &Published,
        before: &BTreeSet<String>,
        is_first_unavailable: bool,
    ) -> Result<RecordOutcome, Error> {
        let event = &stored.event;
        let Err(error) = &published.outcome else {
            self.belfry.mark_published(&event.event_id, Holder::Relay).await?;
            return Ok(RecordOutcome::Published(self.belfry.now().since(event.recorded_at)));
        };
        let (config, now) = (self.belfry.config(), self.belfry.now());
        let mut outcome = outbox::unpublished_outcome(config, error, 0, now, rand::random());
        if let UnpublishedOutcome::Postponed(_) = outcome {
            // Lambda retries long before a sweeper should.
            outcome = UnpublishedOutcome::Postponed(now.plus(config.stream_grace));
        }
        let unavailable = matches!(error, SendError::Unavailable(_));
        // While a queue is unavailable, every retry of the batch would write every entry. Only news is written.
        if !unavailable || is_first_unavailable || published.delivered_to.len() > before.len() {
            let unpublished = Unpublished {
                reason: error.to_string(),
                delivered_to: published.delivered_to.clone(),
                attempt_count: u32::from(!unavailable),
                outcome,
            };
            self.belfry.mark_unpublished(&event.event_id, Holder::Relay, &unpublished).await?;
        }
        if unavailable {
            return Ok(RecordOutcome::Stuck(error.to_string()));
        }
        let failed = outcome == UnpublishedOutcome::GivenUp;
        tracing::error!(event_id = %event.event_id, reason = %error, failed, "queue refused an outbox entry");
        Ok(RecordOutcome::HandedOver { failed })
    }

    /// No attempt can publish an unreadable entry: an operator's case, and no reason to hold up the shard.
    async fn give_up(&self, event_id: &EventId, problem: &Corrupt) -> Result<RecordOutcome, Error> {
        tracing::error!(%event_id, %problem, "outbox entry cannot be read");
        let unpublished = Unpublished {
            reason: problem.to_string(),
            delivered_to: BTreeSet::new(),
            attempt_count: 0,
            outcome: UnpublishedOutcome::Unreadable,
        };
        let failed = self.belfry.mark_unpublished(event_id, Holder::Relay, &unpublished).await?;
        Ok(if failed { RecordOutcome::HandedOver { failed } } else { RecordOutcome::NotOurs })
    }
}

impl Record {
    fn stored(&self) -> Option<&StoredEvent> {
        match self {
            Self::Readable(stored) => Some(stored),
            Self::Unreadable { .. } | Self::WithoutId => None,
        }
    }
}

fn read(record: &EventRecord) -> Record {
    let image: Item = record.change.new_image.clone().into_inner();
    match outbox::read_stored(&image) {
        Ok(stored) => Record::Readable(Box::new(stored)),
        Err(problem) => match outbox::read_id(&record.change.keys.clone().into_inner()) {
            Some(event_id) => Record::Unreadable { event_id, problem },
            None => Record::WithoutId,
        },
    }
}
