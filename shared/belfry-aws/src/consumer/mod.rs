//! The frame of every consumer: a batch of messages in, a report of the failed ones out.
//!
//! Each message is handled on its own. A failure that may be transient makes the message visible again after its backoff.
//! A permanent failure, or one on the last receive, is written to the dead letters with its reason, and the message is
//! acknowledged. A consumer that crashes or times out leaves the message to its queue, whose redrive policy moves it to
//! the dead letter queue; the recorder takes it from there.
//!
//! [`consumer`] is for events: the effect and the processed mark commit in one transaction, so a redelivered event
//! changes nothing. [`process`](fn@process) is for messages of any other form.

mod delivery;
mod effect;
mod events;
mod received;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use belfry_core::dead_letter::GivenUp;
use belfry_core::{Failure, Timestamp};
use futures_util::future::{BoxFuture, join_all};
use lambda_runtime::LambdaEvent;
use tracing::Instrument;

pub use delivery::Delivery;
pub use effect::Effect;
pub use events::{Consumer, EventProcessor, Handler, consumer};
pub use received::Received;

use crate::config::{Config, Queue};
use crate::error::causes;
use crate::metrics::Consumed;
use crate::{Belfry, Error};

/// A function stops this long before Lambda would end it, so that it can still report what it did not do.
const MARGIN: Duration = Duration::from_millis(500);

/// How many skipped duplicates one log line names.
const NAMED_DUPLICATES: usize = 10;

/// What became of a message that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processed {
    /// Its effect took place.
    Processed,
    /// It was processed before, or there was nothing to do.
    Duplicate,
    /// It was written to the dead letters.
    DeadLetter,
}

/// Processes messages of any form. For events use [`Handler`].
pub trait Process: Send + Sync + 'static {
    /// Processes one message.
    fn process(&self, message: &Received) -> impl Future<Output = Result<Processed, Failure>> + Send;

    /// The queue that a message with this ARN belongs to.
    fn queue(&self, config: &Config, resource: &str) -> Option<Queue> {
        config.queue_of_resource(resource)
    }

    /// Whether a failed message has been processed after all, by another delivery. It is then not a dead letter.
    fn is_processed(&self, _message: &Received) -> impl Future<Output = Result<bool, Error>> + Send {
        async { Ok(false) }
    }

    /// What the dead letter of a message keeps.
    fn give_up(&self, message: &Received, reason: String) -> GivenUp {
        message.give_up(reason)
    }

    /// Starts a batch, before any of its messages.
    fn start(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Reports a finished batch.
    fn report(&self, belfry: &Belfry, consumer: &str, counts: &Consumed) {
        belfry.metrics().consumed(consumer, counts);
    }
}

/// A process that could not be built, because a setting is wrong. The settings report the mistake, and the function does not
/// start.
impl<P: Process> Process for Option<P> {
    async fn process(&self, message: &Received) -> Result<Processed, Failure> {
        match self {
            Some(process) => process.process(message).await,
            None => Err(Failure::Unavailable("the function has not started".to_owned())),
        }
    }

    fn queue(&self, config: &Config, resource: &str) -> Option<Queue> {
        self.as_ref().and_then(|process| process.queue(config, resource))
    }

    async fn is_processed(&self, message: &Received) -> Result<bool, Error> {
        match self {
            Some(process) => process.is_processed(message).await,
            None => Ok(false),
        }
    }

    fn give_up(&self, message: &Received, reason: String) -> GivenUp {
        match self {
            Some(process) => process.give_up(message, reason),
            None => message.give_up(reason),
        }
    }

    async fn start(&self) {
        if let Some(process) = self {
            process.start().await;
        }
    }

    fn report(&self, belfry: &Belfry, consumer: &str, counts: &Consumed) {
        if let Some(process) = self {
            process.report(belfry, consumer, counts);
        }
    }
}

/// A Lambda handler for the messages of queues.
pub struct Processor<P> {
    belfry: Belfry,
    process: Arc<P>,
}

impl<P> Clone for Processor<P> {
    fn clone(&self) -> Self {
        Self { belfry: self.belfry.clone(), process: Arc::clone(&self.process) }
    }
}

impl<P> std::fmt::Debug for Processor<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processor").finish_non_exhaustive()
    }
}

/// Processes messages of any form, with the retries and dead letters of every consumer.
pub fn process<P: Process>(belfry: &Belfry, process: P) -> Processor<P> {
    Processor { belfry: belfry.clone(), process: Arc::new(process) }
}

impl<P: Process> tower::Service<LambdaEvent<SqsEvent>> for Processor<P> {
    type Response = SqsBatchResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<SqsBatchResponse, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, event: LambdaEvent<SqsEvent>) -> Self::Future {
        let processor = self.clone();
        Box::pin(async move {
            let deadline = deadline(event.context.deadline);
            Ok(processor.batch(event.payload, deadline).await)
        })
    }
}

/// The moment after which no attempt starts, from the deadline of Lambda's context in milliseconds since the epoch.
pub fn deadline(millis: u64) -> Option<Instant> {
    // Local invocations have none.
    if millis == 0 {
        return None;
    }
    let left = millis.saturating_sub(Timestamp::now().as_millis().unsigned_abs());
    Some(Instant::now() + Duration::from_millis(left).saturating_sub(MARGIN))
}

/// What became of a message.
enum MessageOutcome {
    Done(Processed),
    /// It becomes visible again.
    Retried,
}

impl<P: Process> Processor<P> {
    /// Processes one batch, all messages at the same time.
    pub async fn batch(&self, batch: SqsEvent, deadline: Option<Instant>) -> SqsBatchResponse {
        let started = tokio::time::Instant::now();
        self.process.start().await;
        let received: Vec<Option<Received>> =
            batch.records.iter().map(|message| self.received(message, deadline)).collect();
        let outcomes = join_all(received.iter().map(|message| self.one(message.as_ref()))).await;
        let mut response = SqsBatchResponse::default();
        let mut counts = Consumed::default();
        let mut duplicates = Vec::new();
        for ((message, received), outcome) in batch.records.iter().zip(&received).zip(outcomes) {
            match outcome {
                MessageOutcome::Done(Processed::Processed) => counts.processed += 1,
                MessageOutcome::Done(Processed::Duplicate) => {
                    counts.duplicates += 1;
                    duplicates.extend(received.as_ref().and_then(Received::event));
                }
                MessageOutcome::Done(Processed::DeadLetter) => counts.dead_letters += 1,
                MessageOutcome::Retried => {
                    counts.retried += 1;
                    let mut failure = BatchItemFailure::default();
                    failure.item_identifier = message.message_id.clone().unwrap_or_default();
                    response.batch_item_failures.push(failure);
                }
            }
        }
        let consumer = received.iter().flatten().next().map_or("unknown", |message| message.queue.consumer.as_str());
        let Consumed { processed, retried, dead_letters, .. } = counts;
        let ms = started.elapsed().as_millis();
        tracing::info!(
            consumer,
            processed,
            duplicates = counts.duplicates,
            retried,
            dead_letters,
            ms,
            "batch processed"
        );
        if counts.duplicates > 0 {
            let events: Vec<String> = duplicates
                .iter()
                .take(NAMED_DUPLICATES)
                .map(|event| format!("{} {}", event.event_id, event.event_type))
                .collect();
            tracing::warn!(consumer, count = counts.duplicates, ?events, "duplicates skipped");
        }
        self.process.report(&self.belfry, consumer, &counts);
        response
    }

    fn received(&self, message: &SqsMessage, deadline: Option<Instant>) -> Option<Received> {
        let arn = message.event_source_arn.as_deref().unwrap_or_default();
        let queue = self.process.queue(self.belfry.config(), arn.rsplit(':').next().unwrap_or_default());
        if queue.is_none() {
            let message_id = message.message_id.as_deref();
            tracing::error!(message_id, arn, "message from a queue that is not configured");
        }
        Some(Received::new(message, queue?, deadline))
    }

    async fn one(&self, message: Option<&Received>) -> MessageOutcome {
        let Some(message) = message else { return MessageOutcome::Retried };
        let span = tracing::info_span!(
            "message",
            message_id = message.message_id,
            consumer = message.queue.consumer,
            event_id = message.event().map(|event| event.event_id.as_str()),
            trace_id = message.event().and_then(|event| event.traceparent.as_ref()).map(belfry_core::Trace::trace_id),
        );
        let outcome = async {
            match self.process.process(message).await {
                Ok(processed) => MessageOutcome::Done(processed),
                Err(failure) => self.failed(message, failure).await,
            }
        };
        outcome.instrument(span).await
    }

    /// What becomes of a message that failed: it is retried after its backoff, or becomes a dead letter.
    async fn failed(&self, message: &Received, failure: Failure) -> MessageOutcome {
        let config = self.belfry.config();
        let receives = message.receive_count;
        let backoff = config.backoff.after(receives, rand::random());
        let reason = match failure {
            Failure::Reject(reason) => reason,
            Failure::RetryAt(at) => {
                // Not a moment too early, or it would be put back again.
                let wait = at.since(self.belfry.now()) + Duration::from_millis(500);
                self.retry_later(message, wait).await;
                return MessageOutcome::Retried;
            }
            Failure::Retry(reason) | Failure::Unavailable(reason) if receives >= config.last_receive => {
                format!("given up after {receives} receives: {reason}")
            }
            Failure::Retry(reason) | Failure::Unavailable(reason) => {
                tracing::warn!(receives, reason, "message failed; will retry");
                self.retry_later(message, backoff).await;
                return MessageOutcome::Retried;
            }
        };
        match self.dead_letter(message, reason.clone()).await {
            Ok(processed) => MessageOutcome::Done(processed),
            // Nothing is lost: it is received again, and in the end its queue's redrive policy takes it.
            Err(error) => {
                tracing::error!(receives, reason, %error, "could not write dead letter; will retry");
                self.retry_later(message, backoff).await;
                MessageOutcome::Retried
            }
        }
    }

    async fn dead_letter(&self, message: &Received, reason: String) -> Result<Processed, Error> {
        if self.process.is_processed(message).await? {
            tracing::warn!(reason, "redelivered message failed, but was processed before; skipped");
            return Ok(Processed::Duplicate);
        }
        let given_up = self.process.give_up(message, reason);
        let stored = self.belfry.record_dead_letter(&given_up).await?;
        Ok(if stored { Processed::DeadLetter } else { Processed::Duplicate })
    }

    /// Makes a message visible again after a wait. If that fails, it becomes visible later.
    async fn retry_later(&self, message: &Received, wait: Duration) {
        let seconds = i32::try_from(wait.as_millis().saturating_add(500) / 1_000).unwrap_or(i32::MAX).min(43_200);
        let request = self.belfry.0.sqs.change_message_visibility().queue_url(&message.queue.url);
        let request = request.set_receipt_handle(message.receipt_handle.clone()).visibility_timeout(seconds);
        if let Err(error) = request.send().await {
            tracing::warn!(reason = causes(&error), "could not change the visibility of a message");
        }
    }
}
