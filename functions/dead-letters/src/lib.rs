//! Dead letters: the recorder behind every DLQ, and the consumer that redrives what operators ask for.
//!
//! A message on a DLQ died without a word (crash, time-out): it is written to the dead letters, unique by consumer and
//! event, and taken off the DLQ. A message on the queue `redrives` reports what an operator decided: one dead letter
//! goes back to the queue of the consumer that gave it up, or a job that redrives many goes on by one part.

mod job;
mod record;
mod redrive;

use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::dead_letter::{REDRIVE_REQUESTED, REDRIVEN};
use domain::routing::Queue;
use ledger::{DeadLetters as Table, Events, Ledger, Processed, Sends};
use messaging::{BadStart, Consumer, Failure, Source};
use runtime::{Metrics, Settings};

/// The function, with what it needs for every batch.
#[derive(Debug)]
pub struct DeadLetters {
    consumer: Consumer,
    sqs: aws_sdk_sqs::Client,
    metrics: Metrics,
    table: Table,
    processed: Processed,
    events: Events,
    sends: Sends,
    sources: Vec<Source>,
    marks_kept: Duration,
}

impl DeadLetters {
    /// Reads the tables' names, the URL of every consumer's queue, retention and backoff.
    pub fn new(
        settings: &Settings,
        ledger: Ledger,
        sqs: aws_sdk_sqs::Client,
        metrics: Metrics,
    ) -> Result<Self, BadStart> {
        let there = |queue: &Queue| !queue.is_optional() || settings.optional(queue.setting()).is_some();
        let sources = Queue::ALL.into_iter().filter(there).map(|queue| Source::from_settings(settings, queue));
        let sources: Vec<Source> = sources.collect::<Result<_, _>>()?;
        let redrives = sources.iter().filter(|source| source.queue == Queue::Redrives.name()).cloned().collect();
        Ok(Self {
            consumer: Consumer::new(settings, ledger, sqs.clone(), metrics.clone(), redrives)?,
            sqs,
            metrics,
            table: Table::new(settings.text("BELFRY_DEAD_LETTERS_TABLE")?),
            processed: Processed::new(settings.text("BELFRY_PROCESSED_TABLE")?, settings.processed_retention()?),
            events: Events::new(settings.text("BELFRY_EVENTS_TABLE")?).with_grace(settings.stream_grace()?),
            sends: Sends::new(settings.text("BELFRY_SENDS_TABLE")?, settings.notification_retention()?),
            sources,
            marks_kept: settings.processed_retention()?,
        })
    }

    /// One batch, of a DLQ or of the queue of redrives.
    pub async fn handle(&self, batch: SqsEvent) -> SqsBatchResponse {
        let is_dead = batch.records.first().is_some_and(|message| Source::of_dead(&self.sources, message).is_some());
        if is_dead {
            return self.record(&batch).await;
        }
        let effect = |delivery: std::sync::Arc<messaging::Delivery>| async move {
            match delivery.event.event_type.as_str() {
                REDRIVEN => self.redrive(&delivery.event).await,
                REDRIVE_REQUESTED => self.go_on(&delivery.event).await,
                other => Err(Failure::Reject(format!("nothing to do for {other}"))),
            }
        };
        self.consumer.consume(batch, effect).await
    }

    fn ledger(&self) -> &Ledger {
        self.consumer.ledger()
    }
}
