//! Runs the steps of a saga: each message goes to the method that its step declares for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use belfry_core::saga::{Step, StepCommand};
use belfry_core::{Event, Failure};

use crate::Belfry;
use crate::consumer::{Consumer, Delivery, Effect, Handler, consumer};

type Run = Box<dyn Fn(&Event) -> Result<Effect, serde_json::Error> + Send + Sync>;

/// The steps of one service of a saga.
#[derive(Default)]
pub struct Saga {
    by_type: BTreeMap<&'static str, Run>,
}

/// Declares the steps of one service of a saga.
pub fn saga() -> Saga {
    Saga::default()
}

impl Saga {
    /// Adds a step.
    ///
    /// # Panics
    /// If two steps want the same event type: one service has one answer to an event.
    #[must_use]
    pub fn step<S: Step>(mut self, step: S) -> Self {
        let step = Arc::new(step);
        for event_type in StepCommand::<S>::types() {
            let step = Arc::clone(&step);
            let run: Run = Box::new(move |event| StepCommand::read(Arc::clone(&step), event).map(Effect::run));
            assert!(self.by_type.insert(event_type, run).is_none(), "two steps want {event_type}");
        }
        self
    }

    /// The consumer that runs the steps.
    pub fn consumer(self, belfry: &Belfry, queue: &'static str) -> Consumer<Event, Self> {
        consumer(belfry, queue, self)
    }
}

impl std::fmt::Debug for Saga {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Saga").field("event_types", &self.by_type.keys()).finish()
    }
}

impl Handler<Event> for Saga {
    async fn handle(&self, delivery: Delivery<Event>) -> Result<Effect, Failure> {
        let event = &delivery.event;
        let Some(run) = self.by_type.get(event.event_type.as_str()) else {
            return Err(Failure::Reject(format!("no step for {}", event.event_type)));
        };
        run(event).map_err(|error| {
            Failure::Reject(format!("payload of {} cannot be read: {:?} error", event.event_type, error.classify()))
        })
    }
}
