//! The consumer of operators' redrives: sends a message back to the queue of the consumer that gave it up, or runs the
//! next part of a job that redrives many.
//!
//! A crash between sending and the processed mark sends the message twice. It keeps its event id, so the consumer's own
//! mark makes that harmless.

use aws_sdk_sqs::types::MessageAttributeValue;
use belfry_core::dead_letter::{
    self, DeadLetterFilter, DeadLetterHandled, DeadLetterStatus, REDRIVE_REQUESTED, REDRIVEN, RedriveJob, Selection,
};
use belfry_core::{Context, DeadLetter, Entity, Event, Failure, Message, Stored};
use futures_util::future::join_all;
use serde::Deserialize;

use super::Order;
use crate::consumer::{Consumer, Delivery, Effect, Handler, consumer};
use crate::error::causes;
use crate::execute::CommitOutcome;
use crate::{Belfry, Error};

/// The queue of redrives.
pub const QUEUE: &str = "redrives";

/// The attribute of a redriven message: the event of the redrive. It tells a redrive from a duplicate where a consumer has
/// no processed mark.
pub const ATTRIBUTE: &str = "redrive";

/// How many dead letters one part of a job redrives.
const PART: u16 = 100;

/// Handles `DeadLetterRedriven` and `DeadLettersRedriveRequested`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redriver;

/// What an operator asked for.
#[derive(Debug, Clone)]
pub enum Redrive {
    /// Send one message.
    One(DeadLetterHandled),
    /// Run a part of a job.
    Many(RedriveJob),
}

impl Message for Redrive {
    const TYPES: &'static [&'static str] = &[REDRIVEN, REDRIVE_REQUESTED];

    fn read(event: &Event) -> Result<Self, serde_json::Error> {
        if event.event_type == REDRIVEN {
            DeadLetterHandled::deserialize(&event.payload).map(Self::One)
        } else {
            RedriveJob::read(event).map(Self::Many)
        }
    }
}

/// The consumer of the queue `redrives`. The URLs of all consumers' queues must be configured.
pub fn redriver(belfry: &Belfry) -> Consumer<Redrive, Redriver> {
    consumer(belfry, QUEUE, Redriver)
}

impl Handler<Redrive> for Redriver {
    async fn handle(&self, delivery: Delivery<Redrive>) -> Result<Effect, Failure> {
        match &delivery.message {
            Redrive::One(handled) => redrive(&delivery, handled).await,
            Redrive::Many(job) => run_part(&delivery, job).await,
        }
    }
}

async fn redrive(delivery: &Delivery<Redrive>, handled: &DeadLetterHandled) -> Result<Effect, Failure> {
    let letter = delivery.belfry().get::<DeadLetter>(handled.dead_letter_id).await?;
    let letter = letter.ok_or_else(|| Failure::Reject("the dead letter does not exist".to_owned()))?;
    // A later version means that this redrive was sent before: the message failed again, or was handled since.
    if letter.version() == handled.version && letter.status == DeadLetterStatus::Redriven {
        send(delivery.belfry(), &letter, &delivery.event).await?;
    }
    Ok(delivery.commit().into())
}

async fn send(belfry: &Belfry, letter: &DeadLetter, redrive: &Event) -> Result<(), Failure> {
    let queue = belfry.config().queue_named(&letter.queue);
    let queue = queue.ok_or_else(|| Failure::Reject(format!("no queue {}", letter.queue)))?;
    let mut request = belfry.sqs().send_message().queue_url(&queue.url).message_body(&letter.body);
    let mut attributes = letter.attributes.clone();
    attributes.insert(ATTRIBUTE.to_owned(), redrive.event_id.to_string());
    for (name, value) in &attributes {
        let value = MessageAttributeValue::builder().data_type("String").string_value(value).build();
        let value = value.map_err(|error| Failure::Reject(format!("attribute {name}: {error}")))?;
        request = request.message_attributes(name, value);
    }
    let sent = request.send().await.map_err(|error| Failure::Unavailable(causes(&error)))?;
    let (dead_letter_id, message_id) = (letter.dead_letter_id, sent.message_id);
    tracing::info!(%dead_letter_id, queue = letter.queue, message_id, "dead letter redriven");
    Ok(())
}

async fn run_part(delivery: &Delivery<Redrive>, job: &RedriveJob) -> Result<Effect, Failure> {
    let (belfry, event) = (delivery.belfry(), &delivery.event);
    let (letters, next) = match &job.selection {
        Selection::Ids(ids) => chosen(belfry, ids, job.cursor.as_deref()).await?,
        Selection::Filter(filter) => matching(belfry, filter, job.cursor.as_deref()).await?,
    };
    // A part that is repeated must not redrive a message that has failed again since the job was requested.
    let letters: Vec<_> = letters.into_iter().filter(|letter| letter.created_at <= event.recorded_at).collect();
    let by = event.actor.as_deref().unwrap_or_default();
    let redriven = join_all(letters.iter().map(|letter| redrive_one(belfry, letter, by, event))).await;
    let redriven = redriven.into_iter().collect::<Result<Vec<bool>, _>>()?;
    let count = redriven.iter().filter(|redriven| **redriven).count();
    tracing::info!(job_id = %job.job_id, part = job.part, redriven = count, read = letters.len(), "redrive job");
    let Some(next) = next else { return Ok(delivery.commit().into()) };
    let next = RedriveJob { cursor: Some(next), part: job.part + 1, ..job.clone() };
    let mut requested = next.requested();
    requested.actor.clone_from(&event.actor);
    Ok(delivery.commit().event(requested).into())
}

type Part = (Vec<Stored<DeadLetter>>, Option<String>);

async fn chosen(belfry: &Belfry, ids: &[uuid::Uuid], cursor: Option<&str>) -> Result<Part, Failure> {
    let done = cursor.and_then(|cursor| cursor.parse::<usize>().ok()).unwrap_or(0);
    let part: Vec<_> = ids.iter().skip(done).take(PART.into()).map(|id| DeadLetter::by_id(*id)).collect();
    let done = done + part.len();
    let letters = belfry.read(part).await?.into_iter().flatten().collect();
    Ok((letters, (done < ids.len()).then(|| done.to_string())))
}

async fn matching(belfry: &Belfry, filter: &DeadLetterFilter, cursor: Option<&str>) -> Result<Part, Failure> {
    let open = DeadLetterFilter { status: Some(DeadLetterStatus::Open), ..filter.clone() };
    let page = belfry.dead_letters(&open, Order::OldestFirst, PART, cursor).await?;
    Ok((page.rows, page.next))
}

/// Redrives one, unless another operator was first or it is too old.
async fn redrive_one(belfry: &Belfry, letter: &Stored<DeadLetter>, by: &str, job: &Event) -> Result<bool, Error> {
    let ctx = Context::begin().at(belfry.now()).with_actor(by).with_trace(job.traceparent.clone());
    let Ok(commit) = dead_letter::redriven(letter, by, &ctx, belfry.config().mark_retention) else { return Ok(false) };
    Ok(matches!(belfry.commit(&ctx, commit).await?, CommitOutcome::Committed { .. }))
}
