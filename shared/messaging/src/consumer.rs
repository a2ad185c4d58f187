//! The frame of every consumer: a batch of messages in, a report of the failed ones out.
//!
//! For each message on its own: parse it, ask the consumer what its effect is, and commit the effect together with
//! the mark (consumer, event). A message whose mark is there already is skipped, logged at WARN, counted and
//! acknowledged. What an effect wants done after its commit is done at most once, best effort. What may pass comes back
//! after its backoff, alone; what never will, or was tried for the last time, is written to the dead letters with the
//! reason and acknowledged. What dies without a word is the queue's: its redrive policy moves it to the DLQ, and a
//! recorder from there to the dead letters.

use std::sync::Arc;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use domain::Time;
use domain::backoff::Backoff;
use futures_util::future::{BoxFuture, join_all};
use ledger::{DeadLetters, Ledger, LedgerError, Outcome, Processed, Write};
use runtime::metrics::Consumed;
use runtime::{BadSetting, Metrics, Settings};
use tracing::Instrument;

use crate::delivery::{Delivery, failed, given_up, receive_count};
use crate::envelope::NotAnEvent;
use crate::source::Source;

/// How often an effect is asked for again after a lost race, before the message goes back to the queue.
const RACES: u32 = 5;

/// Why a message could not be processed, and therefore what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It may pass: this message alone comes back after its backoff.
    #[error("{0}")]
    Retry(String),
    /// It never will: straight to the dead letters.
    #[error("{0}")]
    Reject(String),
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Contended { .. } | LedgerError::Unavailable { .. } | LedgerError::Refused { .. } => {
                Self::Retry(error.to_string())
            }
            LedgerError::Corrupt(_) | LedgerError::Unwritable(_) => Self::Reject(error.to_string()),
        }
    }
}

impl From<NotAnEvent> for Failure {
    fn from(error: NotAnEvent) -> Self {
        Self::Reject(error.to_string())
    }
}

/// What a consumer does in answer to an event; nothing at all is an effect too.
#[derive(Default)]
pub struct Effect {
    /// The items to write, in one transaction with the mark.
    pub writes: Vec<Write>,
    /// What to do once they are written: best effort, at most once, and whatever comes of it, the message is done. It is
    /// not done for a duplicate, nor where one of the writes was there already: then somebody has done this before.
    pub after_commit: Option<BoxFuture<'static, ()>>,
}

impl std::fmt::Debug for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let after_commit = self.after_commit.is_some();
        f.debug_struct("Effect").field("writes", &self.writes).field("after_commit", &after_commit).finish()
    }
}

/// The frame, with what it needs for every batch.
#[derive(Debug, Clone)]
pub struct Consumer {
    ledger: Ledger,
    sqs: aws_sdk_sqs::Client,
    metrics: Metrics,
    processed: Processed,
    dead_letters: DeadLetters,
    sources: Vec<Source>,
    backoff: Backoff,
    last_receive: u32,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Processed,
    Duplicate,
    DeadLetter,
    /// It comes back.
    Retried,
}

impl Consumer {
    /// Reads the tables' names, `BELFRY_PROCESSED_RETENTION`, `BELFRY_RECEIVE_COUNT` and the backoff.
    pub fn new(
        settings: &Settings,
        ledger: Ledger,
        sqs: aws_sdk_sqs::Client,
        metrics: Metrics,
        sources: Vec<Source>,
    ) -> Result<Self, BadSetting> {
        Ok(Self {
            ledger,
            sqs,
            metrics,
            processed: Processed::new(settings.text("BELFRY_PROCESSED_TABLE")?, settings.processed_retention()?),
            dead_letters: DeadLetters::new(settings.text("BELFRY_DEAD_LETTERS_TABLE")?),
            sources,
            backoff: settings.backoff()?,
            last_receive: settings.last_receive()?,
        })
    }

    /// The ledger, for effects that read.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Processes a batch; `effect` is what the consumer does.
    pub async fn consume<E, F>(&self, batch: SqsEvent, effect: E) -> SqsBatchResponse
    where
        E: Fn(Arc<Delivery>) -> F,
        F: Future<Output = Result<Effect, Failure>>,
    {
        let outcomes = join_all(batch.records.iter().map(|message| self.one(message, &effect))).await;
        let mut response = SqsBatchResponse::default();
        let mut consumed = Consumed::default();
        for (message, done) in batch.records.iter().zip(outcomes) {
            match done {
                Done::Processed => consumed.processed += 1,
                Done::Duplicate => consumed.duplicates += 1,
                Done::DeadLetter => consumed.dead_letters += 1,
                Done::Retried => {
                    consumed.retried += 1;
                    response.batch_item_failures.push(failed(message));
                }
            }
        }
        let source = batch.records.first().and_then(|message| Source::of(&self.sources, message));
        self.metrics.consumed(source.map_or("unknown", |source| &source.consumer), &consumed);
        response
    }

    async fn one<E, F>(&self, message: &SqsMessage, effect: &E) -> Done
    where
        E: Fn(Arc<Delivery>) -> F,
        F: Future<Output = Result<Effect, Failure>>,
    {
        let message_id = message.message_id.as_deref().unwrap_or_default();
        let Some(source) = Source::of(&self.sources, message) else {
            tracing::error!(message_id, arn = message.event_source_arn, "message from a queue that is not configured");
            return Done::Retried;
        };
        let delivery = Delivery::parse(message, source).map(Arc::new);
        let trace = delivery.as_ref().ok().and_then(|delivery| delivery.event.traceparent.as_ref());
        let span = tracing::info_span!(
            "message",
            message_id,
            consumer = source.consumer,
            event_id = delivery.as_ref().ok().map(|delivery| delivery.event.event_id.as_str()),
            trace_id = trace.map(domain::Trace::trace_id),
        );
        let processed = async {
            let outcome = match &delivery {
                Ok(delivery) => self.process(delivery, effect).await,
                Err(problem) => Err(Failure::Reject(problem.to_string())),
            };
            match outcome {
                Ok(done) => done,
                Err(failure) => self.failed(message, source, delivery.as_deref().ok(), failure).await,
            }
        };
        processed.instrument(span).await
    }

    async fn process<E, F>(&self, delivery: &Arc<Delivery>, effect: &E) -> Result<Done, Failure>
    where
        E: Fn(Arc<Delivery>) -> F,
        F: Future<Output = Result<Effect, Failure>>,
    {
        let event_id = &delivery.event.event_id;
        for _ in 0..RACES {
            let effect = effect(Arc::clone(delivery)).await?;
            let mark = self.processed.mark(&delivery.consumer, event_id, &delivery.queue, Time::now())?;
            match self.commit(effect, mark).await? {
                Some(Done::Duplicate) => {
                    tracing::warn!("duplicate skipped");
                    return Ok(Done::Duplicate);
                }
                Some(done) => {
                    tracing::info!("processed");
                    return Ok(done);
                }
                None => {}
            }
        }
        Err(Failure::Retry(format!("lost {RACES} races")))
    }

    /// Commits the effect with its mark; `None` means that the effect rests on something that has changed.
    async fn commit(&self, effect: Effect, mark: Write) -> Result<Option<Done>, LedgerError> {
        let mark_key = mark.key().clone();
        let Effect { mut writes, mut after_commit } = effect;
        writes.push(mark);
        loop {
            match self.ledger.commit(&writes).await? {
                Outcome::Committed => {
                    if let Some(after_commit) = after_commit {
                        after_commit.await;
                    }
                    return Ok(Some(Done::Processed));
                }
                Outcome::Raced(raced) if raced.lost(&mark_key) => return Ok(Some(Done::Duplicate)),
                Outcome::Raced(raced) => {
                    if !raced.drop_existing(&mut writes) {
                        return Ok(None);
                    }
                    after_commit = None;
                }
            }
        }
    }

    /// What becomes of a message that failed: it comes back after its backoff, or is a dead letter.
    async fn failed(
        &self,
        message: &SqsMessage,
        source: &Source,
        delivery: Option<&Delivery>,
        failure: Failure,
    ) -> Done {
        let received = receive_count(message);
        let reason = match failure {
            Failure::Reject(reason) => reason,
            Failure::Retry(reason) if received >= self.last_receive => {
                format!("given up after {received} receives: {reason}")
            }
            Failure::Retry(reason) => {
                tracing::warn!(received, reason, "message comes back");
                self.come_back(message, source, received).await;
                return Done::Retried;
            }
        };
        match self.give_up(message, source, delivery, reason.clone()).await {
            Ok(done) => done,
            // Nothing is lost: it comes back, and at last its queue's redrive policy takes it.
            Err(error) => {
                tracing::error!(received, reason, %error, "dead letter not written, message comes back");
                self.come_back(message, source, received).await;
                Done::Retried
            }
        }
    }

    /// Writes the dead letter; not where the event has been processed after all, by another delivery.
    async fn give_up(
        &self,
        message: &SqsMessage,
        source: &Source,
        delivery: Option<&Delivery>,
        reason: String,
    ) -> Result<Done, LedgerError> {
        if let Some(delivery) = delivery
            && self.processed.is_marked(&self.ledger, &source.consumer, &delivery.event.event_id).await?
        {
            tracing::warn!(reason, "duplicate failed and is skipped");
            return Ok(Done::Duplicate);
        }
        let given_up = given_up(message, source, delivery, reason);
        let kept = self.dead_letters.record(&self.ledger, &given_up).await?;
        tracing::error!(dead_letter_id = %given_up.dead_letter_id(), reason = given_up.reason, kept, "dead letter");
        Ok(if kept { Done::DeadLetter } else { Done::Duplicate })
    }

    /// Makes the message visible again after its backoff and not when the queue's own timeout ends, which leaves room
    /// for six runs of the function.
    async fn come_back(&self, message: &SqsMessage, source: &Source, received: u32) {
        source.come_back(&self.sqs, message, self.backoff.after(received, rand::random())).await;
    }
}
