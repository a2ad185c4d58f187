//! The frame of every consumer: a batch of messages in, a report of the failed ones out.
//!
//! For each message on its own: parse it, ask the consumer what its effect is, and commit the effect together with
//! the mark (consumer, event). A message whose mark is there already is skipped, logged at WARN and acknowledged.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage, SqsMessageAttribute};
use domain::{Event, Time};
use futures_util::future::join_all;
use ledger::{Ledger, LedgerError, Outcome, Processed, Write};

use crate::envelope::{self, NotAnEvent};

/// How often an effect is asked for again after a lost race, before the message goes back to the queue.
const RACES: u32 = 5;

/// Why a message could not be processed, and therefore what becomes of it.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It may pass: this message alone comes back.
    #[error("{0}")]
    Retry(String),
    /// It never will.
    #[error("{0}")]
    Reject(String),
}

impl Failure {
    fn fate(&self) -> &'static str {
        match self {
            Self::Retry(_) => "RETRY",
            Self::Reject(_) => "REJECT",
        }
    }
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

/// A message as a consumer sees it.
#[derive(Debug)]
pub struct Delivery {
    /// The event.
    pub event: Event,
    /// The message's text attributes.
    pub attributes: BTreeMap<String, String>,
    source_queue: String,
}

impl Delivery {
    fn parse(message: &SqsMessage) -> Result<Self, NotAnEvent> {
        let event = envelope::read(message.body.as_deref().unwrap_or_default())?;
        let text = |(name, value): (&String, &SqsMessageAttribute)| Some((name.clone(), value.string_value.clone()?));
        let queue = message.event_source_arn.as_deref().and_then(|arn| arn.rsplit(':').next());
        Ok(Self {
            event,
            attributes: message.message_attributes.iter().filter_map(text).collect(),
            source_queue: queue.unwrap_or("unknown").to_owned(),
        })
    }
}

/// What a consumer's marks are written with.
#[derive(Debug, Clone)]
pub struct Consumer {
    /// Where everything is written.
    pub ledger: Ledger,
    /// The marks.
    pub processed: Processed,
}

enum Done {
    Processed,
    Duplicate,
}

impl Consumer {
    /// Processes a batch. `name` tells which consumer a message is for, `effect` what that consumer does.
    pub async fn consume<N, E, F>(&self, batch: SqsEvent, name: N, effect: E) -> SqsBatchResponse
    where
        N: Fn(&Delivery) -> Result<String, Failure>,
        E: Fn(Arc<Delivery>) -> F,
        F: Future<Output = Result<Effect, Failure>>,
    {
        let outcomes = join_all(batch.records.iter().map(|message| self.one(message, &name, &effect))).await;
        let mut response = SqsBatchResponse::default();
        for (message, outcome) in batch.records.iter().zip(outcomes) {
            let message_id = message.message_id.as_deref().unwrap_or_default();
            if let Err(failure) = outcome {
                tracing::error!(message_id, fate = failure.fate(), reason = %failure, "message failed");
                let mut item = BatchItemFailure::default();
                item.item_identifier = message_id.to_owned();
                response.batch_item_failures.push(item);
            }
        }
        response
    }

    async fn one<N, E, F>(&self, message: &SqsMessage, name: &N, effect: &E) -> Result<(), Failure>
    where
        N: Fn(&Delivery) -> Result<String, Failure>,
        E: Fn(Arc<Delivery>) -> F,
        F: Future<Output = Result<Effect, Failure>>,
    {
        let delivery = Arc::new(Delivery::parse(message)?);
        let consumer = name(&delivery)?;
        let event_id = &delivery.event.event_id;
        for _ in 0..RACES {
            let effect = effect(Arc::clone(&delivery)).await?;
            let mark = self.processed.mark(&consumer, event_id, &delivery.source_queue, Time::now())?;
            match self.commit(effect, mark).await? {
                Some(Done::Processed) => {
                    tracing::info!(%event_id, consumer, "processed");
                    return Ok(());
                }
                Some(Done::Duplicate) => {
                    tracing::warn!(%event_id, consumer, "duplicate skipped");
                    return Ok(());
                }
                None => {}
            }
        }
        Err(Failure::Retry(format!("lost {RACES} races")))
    }

    /// Commits the effect with its mark; `None` means that the effect rests on something that has changed.
    async fn commit(&self, effect: Effect, mark: Write) -> Result<Option<Done>, LedgerError> {
        let mark_key = mark.key().clone();
        let mut writes = effect.writes;
        writes.push(mark);
        loop {
            match self.ledger.commit(&writes).await? {
                Outcome::Committed => return Ok(Some(Done::Processed)),
                Outcome::Raced(raced) if raced.lost(&mark_key) => return Ok(Some(Done::Duplicate)),
                Outcome::Raced(raced) => {
                    if !raced.drop_existing(&mut writes) {
                        return Ok(None);
                    }
                }
            }
        }
    }
}

/// What a consumer does in answer to an event; nothing at all is an effect too.
#[derive(Debug, Default)]
pub struct Effect {
    /// The items to write, in one transaction with the mark.
    pub writes: Vec<Write>,
}
