//! Consumers of events: parse, handle, commit with the processed mark.

use std::marker::PhantomData;
use std::sync::Arc;

use belfry_core::{Context, Event, Failure, Message, execution_of};

use super::effect::EffectKind;
use super::{Delivery, Effect, Process, Processed, Processor, Received, process};
use crate::execute::{Execution, Guard, GuardedOutcome};
use crate::{Belfry, Error};

/// How often a handler is asked again after a lost race, before the message is returned to the queue.
const MAX_RACES: u32 = 5;

/// Handles messages: an async closure, or a type with state of its own.
pub trait Handler<M: Message>: Send + Sync + 'static {
    /// Returns the effect of a message. It may run several times for the same message.
    fn handle(&self, delivery: Delivery<M>) -> impl Future<Output = Result<Effect, Failure>> + Send;
}

impl<M, F, Fut> Handler<M> for F
where
    M: Message,
    F: Fn(Delivery<M>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Effect, Failure>> + Send,
{
    fn handle(&self, delivery: Delivery<M>) -> impl Future<Output = Result<Effect, Failure>> + Send {
        self(delivery)
    }
}

/// A handler that could not be built, because a setting is wrong. The settings report the mistake, and the function does
/// not start.
impl<M: Message, H: Handler<M>> Handler<M> for Option<H> {
    async fn handle(&self, delivery: Delivery<M>) -> Result<Effect, Failure> {
        match self {
            Some(handler) => handler.handle(delivery).await,
            None => Err(Failure::Unavailable("the function has not started".to_owned())),
        }
    }
}

/// A consumer of events, as a Lambda handler.
pub type Consumer<M, H> = Processor<EventProcessor<M, H>>;

/// Processes events with a handler.
pub struct EventProcessor<M, H> {
    belfry: Belfry,
    queue: Option<&'static str>,
    handler: H,
    of: PhantomData<fn() -> M>,
}

/// A consumer of the events of this queue. The consumer is named after its queue, unless
/// [`Config::name_consumers`](crate::Config::name_consumers) says otherwise.
pub fn consumer<M: Message, H: Handler<M>>(belfry: &Belfry, queue: &'static str, handler: H) -> Consumer<M, H> {
    let processor = EventProcessor { belfry: belfry.clone(), queue: Some(queue), handler, of: PhantomData };
    process(belfry, processor)
}

impl<M: Message, H: Handler<M>> EventProcessor<M, H> {
    /// A consumer of the events of every configured queue.
    pub fn of_all_queues(belfry: &Belfry, handler: H) -> Consumer<M, H> {
        process(belfry, Self { belfry: belfry.clone(), queue: None, handler, of: PhantomData })
    }

    async fn handle(&self, received: &Received, event: &Arc<Event>) -> Result<Processed, Failure> {
        let consumer = received.queue.consumer.as_str();
        let execution = Execution::new(consumer, Guard::Mark { consumer, event, queue: received.queue.name.as_str() });
        let base = Context::new(self.belfry.now(), execution_of(event.event_id.as_str(), event.recorded_at, consumer))
            .with_actor(consumer)
            .with_trace(event.traceparent.clone())
            .with_deadline(received.deadline);
        let (queue, attributes) = (Arc::from(received.queue.name.as_str()), Arc::new(received.attributes.clone()));
        for _ in 0..MAX_RACES {
            let message = M::read(event).map_err(|error| {
                // Says where but not what: the error's own text may quote the payload.
                Failure::Reject(format!("payload of {} cannot be read: {:?} error", event.event_type, error.classify()))
            })?;
            let delivery = Delivery {
                message,
                event: Arc::clone(event),
                queue: Arc::clone(&queue),
                attributes: Arc::clone(&attributes),
                receive_count: received.receive_count,
                ctx: base.at(self.belfry.now()),
                belfry: self.belfry.clone(),
            };
            let ctx = delivery.ctx.clone();
            let effect = self.handler.handle(delivery).await?;
            let ended = match effect.kind {
                EffectKind::Done => return Ok(Processed::Processed),
                EffectKind::Run(work) => self.belfry.run_guarded(&ctx, &execution, &*work, &mut 0).await?,
                EffectKind::Commit(commit) => match self.belfry.commit_guarded(&ctx, &execution, commit).await? {
                    Some(ended) => ended,
                    // It depends on something that has changed: ask again.
                    None => continue,
                },
            };
            return match ended {
                GuardedOutcome::Accepted { dropped, .. } => {
                    if let Some(after_commit) = effect.after_commit.filter(|_| dropped == 0) {
                        after_commit.await;
                    }
                    Ok(Processed::Processed)
                }
                GuardedOutcome::Refused { failure, .. } => Err(failure),
                _ => Ok(Processed::Duplicate),
            };
        }
        Err(Failure::Unavailable(format!("lost {MAX_RACES} races")))
    }
}

impl<M: Message, H: Handler<M>> Process for EventProcessor<M, H> {
    async fn process(&self, received: &Received) -> Result<Processed, Failure> {
        if self.queue.is_some_and(|queue| queue != received.queue.name) {
            let (queue, expected) = (&received.queue.name, self.queue.unwrap_or_default());
            return Err(Failure::Retry(format!("message from the queue {queue} instead of {expected}")));
        }
        let event = received.read_event().map_err(|problem| Failure::Reject(problem.to_string()))?;
        let is_ours = M::TYPES.contains(&"*") || M::TYPES.contains(&event.event_type.as_str());
        if !is_ours {
            return Err(Failure::Reject(format!("no handler for {}", event.event_type)));
        }
        self.handle(received, event).await
    }

    async fn is_processed(&self, received: &Received) -> Result<bool, Error> {
        match received.event() {
            Some(event) => Ok(self.belfry.mark(&received.queue.consumer, &event.event_id).await?.is_some()),
            None => Ok(false),
        }
    }
}
