//! Recording dead letters, and the recorder behind dead letter queues.

use belfry_core::dead_letter::GivenUp;
use belfry_core::{Command, Commit, Context, DeadLetter, Entity, Failure, Found, Get, Revision};

use crate::config::{Config, Queue};
use crate::consumer::{Process, Processed, Processor, Received, process};
use crate::{Belfry, Error};

/// The reason of a message that its queue moved to the dead letter queue.
pub const CRASHED: &str = "consumer crashed, timed out, or could not record its failure";

/// Stores the dead letter of a message. Its output is whether there is one that was not open before.
#[derive(Debug, Clone)]
pub struct RecordDeadLetter(pub GivenUp);

impl Command for RecordDeadLetter {
    const NAME: &'static str = "record dead letter";
    type Reads = Get<DeadLetter>;
    type Output = bool;
    type Refusal = std::convert::Infallible;

    fn reads(&self) -> Get<DeadLetter> {
        DeadLetter::by_id(self.0.dead_letter_id()).assume_absent()
    }

    fn decide(&self, stored: Found<Self>, ctx: &Context) -> Result<Commit<bool>, Self::Refusal> {
        Ok(match self.0.decide(stored.as_deref(), ctx.now()) {
            Some(letter) => ctx.commit().put(&Revision::of(stored.as_ref(), letter)).output(true),
            None => ctx.commit().output(false),
        })
    }
}

impl Belfry {
    /// Stores the dead letter of a message. Returns whether there is one that was not open before.
    pub async fn record_dead_letter(&self, given_up: &GivenUp) -> Result<bool, Error> {
        let ctx = Context::begin().at(self.now());
        let stored = match self.run(&ctx, &RecordDeadLetter(given_up.clone())).await? {
            Ok(stored) => stored,
            Err(never) => match never {},
        };
        tracing::error!(
            consumer = given_up.consumer,
            event_id = given_up.event.as_ref().map(|event| event.event_id.as_str()),
            dead_letter_id = %given_up.dead_letter_id(),
            reason = given_up.reason,
            new = stored,
            "message moved to dead letters"
        );
        Ok(stored)
    }
}

/// Records the messages of dead letter queues, whose names are those of the consumers' queues with `-dlq` after them.
#[derive(Debug, Clone)]
pub struct Recorder {
    belfry: Belfry,
}

/// The recorder of dead letters. Put it behind every dead letter queue.
pub fn recorder(belfry: &Belfry) -> Processor<Recorder> {
    process(belfry, Recorder { belfry: belfry.clone() })
}

impl Recorder {
    /// The queue whose dead letter queue has this resource name.
    pub fn queue_of(config: &Config, resource: &str) -> Option<Queue> {
        config.queue_of_resource(resource.strip_suffix("-dlq")?)
    }

    /// Stores the dead letter of a message, unless its event has been processed: its consumer may have crashed after the
    /// commit, or another delivery got through.
    pub async fn record(belfry: &Belfry, message: &Received) -> Result<Processed, Error> {
        if let Some(event) = message.event()
            && belfry.mark(&message.queue.consumer, &event.event_id).await?.is_some()
        {
            tracing::warn!("message of a dead letter queue was processed before; dropped");
            return Ok(Processed::Duplicate);
        }
        let stored = belfry.record_dead_letter(&message.give_up(CRASHED.to_owned())).await?;
        Ok(if stored { Processed::DeadLetter } else { Processed::Duplicate })
    }
}

impl Process for Recorder {
    async fn process(&self, message: &Received) -> Result<Processed, Failure> {
        // A message that cannot be recorded stays in its dead letter queue.
        Self::record(&self.belfry, message).await.map_err(|error| Failure::Unavailable(error.to_string()))
    }

    fn queue(&self, config: &Config, resource: &str) -> Option<Queue> {
        Self::queue_of(config, resource)
    }

    fn report(&self, belfry: &Belfry, _consumer: &str, counts: &crate::metrics::Consumed) {
        belfry.metrics().consumed("dead-letters", counts);
    }
}
