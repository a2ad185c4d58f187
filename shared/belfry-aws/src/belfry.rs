//! The handle that applications hold.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use belfry_core::{Entity, Event, ReadSet, Stored, Timestamp};

use crate::config::Config;
use crate::{Error, Metrics};

/// A queue that an event must reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Destination {
    /// The queue's name.
    pub queue: String,
    /// Message attributes besides those that every event has, for filters and consumers.
    pub attributes: BTreeMap<String, String>,
}

impl<T: Into<String>> From<T> for Destination {
    fn from(queue: T) -> Self {
        Self { queue: queue.into(), attributes: BTreeMap::new() }
    }
}

/// Names the queues that an event must reach. Asked once, when the event is committed; the answer is stored with it.
///
/// A function is enough:
///
/// ```
/// use belfry_aws::{Destination, Event, Routes};
///
/// fn routes(event: &Event) -> Vec<Destination> {
///     match event.event_type.as_str() {
///         "BookBorrowed" => vec!["reminders".into()],
///         _ => vec![],
///     }
/// }
/// # fn is_routes(_: impl Routes) {}
/// # is_routes(routes);
/// ```
pub trait Routes: Send + Sync + 'static {
    /// The queues that this event must reach.
    fn destinations(&self, event: &Event) -> Vec<Destination>;

    /// The URI of the payload's schema, which the envelope names.
    fn dataschema(&self, _event_type: &str) -> Option<String> {
        None
    }
}

impl<F: Fn(&Event) -> Vec<Destination> + Send + Sync + 'static> Routes for F {
    fn destinations(&self, event: &Event) -> Vec<Destination> {
        self(event)
    }
}

/// Commands, consumers, the relay and the sweeper over one DynamoDB and one SQS client. Cheap to clone.
#[derive(Clone)]
pub struct Belfry(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) dynamodb: aws_sdk_dynamodb::Client,
    pub(crate) sqs: aws_sdk_sqs::Client,
    pub(crate) config: Config,
    pub(crate) routes: Box<dyn Routes>,
    pub(crate) metrics: Metrics,
    pub(crate) clock: fn() -> Timestamp,
}

impl fmt::Debug for Belfry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Belfry").field("config", &self.0.config).finish_non_exhaustive()
    }
}

/// Builds a [`Belfry`].
pub struct Builder {
    config: Config,
    routes: Box<dyn Routes>,
    metrics: Metrics,
    clock: fn() -> Timestamp,
}

impl Builder {
    /// Sets the routes of events. Without them events are stored and delivered to nobody.
    #[must_use]
    pub fn routes(mut self, routes: impl Routes) -> Self {
        self.routes = Box::new(routes);
        self
    }

    /// Sets where metrics go. The default is standard output.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Sets the clock, for simulations.
    #[must_use]
    pub fn clock(mut self, clock: fn() -> Timestamp) -> Self {
        self.clock = clock;
        self
    }

    /// Finishes. The DynamoDB client must not retry by itself: the kernel does, and knows what may be repeated.
    pub fn build(self, dynamodb: aws_sdk_dynamodb::Client, sqs: aws_sdk_sqs::Client) -> Belfry {
        let Self { config, routes, metrics, clock } = self;
        Belfry(Arc::new(Inner { dynamodb, sqs, config, routes, metrics, clock }))
    }
}

impl Belfry {
    /// Starts building.
    pub fn builder(config: Config) -> Builder {
        let nowhere = |_: &Event| Vec::new();
        Builder { config, routes: Box::new(nowhere), metrics: Metrics::to_stdout(), clock: Timestamp::now }
    }

    /// The kernel's settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Where metrics go.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The DynamoDB client, for requests that the kernel does not offer.
    pub fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        &self.0.dynamodb
    }

    /// The SQS client, for requests that the kernel does not offer.
    pub fn sqs(&self) -> &aws_sdk_sqs::Client {
        &self.0.sqs
    }

    /// The time of the kernel's clock.
    pub fn now(&self) -> Timestamp {
        (self.0.clock)()
    }

    /// Reads an entity consistently.
    pub async fn get<E: Entity>(&self, id: E::Id<'_>) -> Result<Option<Stored<E>>, Error> {
        Ok(self.get_item(&E::place(id)).await?.map(Stored::from_item).transpose()?)
    }

    /// Reads a set of items consistently, up to 100 in one round trip.
    pub async fn read<R: ReadSet>(&self, set: R) -> Result<R::Output, Error> {
        let mut wanted = Vec::new();
        set.wanted(&mut wanted);
        let found = self.get_all(wanted.into_iter().map(|wanted| wanted.place), None).await?;
        Ok(set.output(&found)?)
    }
}
