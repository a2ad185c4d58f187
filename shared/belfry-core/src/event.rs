//! Events: what a commit reports, and what consumers receive.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::Context;
use crate::entity::Entity;
use crate::item::{Place, Unwritable};
use crate::{EventId, Timestamp, Trace};

/// An event as it is stored in the outbox and delivered to consumers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its own id, never the aggregate's.
    pub event_id: EventId,
    /// What happened, such as `BookBorrowed`.
    pub event_type: String,
    /// The kind of thing it happened to.
    pub aggregate_type: String,
    /// The thing it happened to.
    pub aggregate_id: String,
    /// The version of the aggregate after it, if the aggregate has versions.
    pub version: Option<u64>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// When it was committed; the same on every delivery.
    pub recorded_at: Timestamp,
    /// Who caused it, for the audit trail.
    pub actor: Option<String>,
    /// The trace of the request that caused it.
    pub traceparent: Option<Trace>,
    /// The fields of this event type.
    pub payload: Value,
}

/// The payload of an event about an entity.
pub trait Payload: Serialize {
    /// The event type.
    const TYPE: &'static str;

    /// The entity that the event is about. If the same commit writes it, the event carries its new version.
    type Of: Entity;

    /// The id of that entity.
    fn subject(&self) -> <Self::Of as Entity>::Id<'_>;
}

/// An event before it is committed.
#[derive(Debug, Clone)]
pub struct EventDraft {
    /// What happened.
    pub event_type: Cow<'static, str>,
    /// The kind of thing it happened to.
    pub aggregate_type: Cow<'static, str>,
    /// The thing it happened to.
    pub aggregate_id: String,
    /// The version of the aggregate after it.
    pub version: Option<u64>,
    /// The entity that the event is about, if the commit writes it.
    pub place: Option<Place>,
    /// The fields of this event type, or why they cannot be written.
    pub payload: Result<Value, Unwritable>,
    /// The event's id; the kernel derives one if it is left out.
    pub event_id: Option<EventId>,
    /// When it happened; the time of the commit if it is left out.
    pub occurred_at: Option<Timestamp>,
    /// Who caused it, if not the actor of the context.
    pub actor: Option<String>,
}

impl EventDraft {
    /// An event of this type about an aggregate, given by its type and id.
    pub fn new(
        event_type: impl Into<Cow<'static, str>>,
        (aggregate_type, aggregate_id): (impl Into<Cow<'static, str>>, impl Into<String>),
        payload: &impl Serialize,
    ) -> Self {
        Self {
            event_type: event_type.into(),
            aggregate_type: aggregate_type.into(),
            aggregate_id: aggregate_id.into(),
            version: None,
            place: None,
            payload: serde_json::to_value(payload).map_err(Unwritable::from),
            event_id: None,
            occurred_at: None,
            actor: None,
        }
    }

    /// The event, with the context's id of the execution filled in by the commit, and the time, actor and trace of the
    /// context.
    #[doc(hidden)]
    pub fn stamped(self, ctx: &Context, version: Option<u64>) -> Result<Event, Unwritable> {
        let event_type = self.event_type.into_owned();
        let payload = self.payload.map_err(|problem| Unwritable(format!("{event_type}: {}", problem.0)))?;
        Ok(Event {
            event_id: self.event_id.unwrap_or_else(|| ctx.id(0).into()),
            aggregate_type: self.aggregate_type.into_owned(),
            aggregate_id: self.aggregate_id,
            version,
            occurred_at: self.occurred_at.unwrap_or(ctx.now()),
            recorded_at: ctx.now(),
            actor: self.actor.or_else(|| ctx.actor().map(str::to_owned)),
            traceparent: ctx.trace().cloned(),
            event_type,
            payload,
        })
    }

    /// Sets the version of the aggregate after the event.
    #[must_use]
    pub fn version(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }
}

/// A [`Payload`] or an [`EventDraft`].
pub trait IntoEvent {
    /// The event.
    fn into_event(self) -> EventDraft;
}

impl<P: Payload> IntoEvent for P {
    fn into_event(self) -> EventDraft {
        let place = P::Of::place(self.subject());
        let draft = EventDraft::new(P::TYPE, (P::Of::KIND, place.key.to_string()), &self);
        EventDraft { place: Some(place), ..draft }
    }
}

impl IntoEvent for EventDraft {
    fn into_event(self) -> EventDraft {
        self
    }
}

/// The id and time of an event, for payloads that repeat them.
#[derive(Debug, Clone)]
pub struct Stamp {
    /// The event's id.
    pub event_id: EventId,
    /// The time of the commit.
    pub now: Timestamp,
}

/// A message that a consumer accepts: a payload, an enum of payloads, or [`Event`] itself.
pub trait Message: Sized + Send + Sync + 'static {
    /// The event types that it is read from; `*` stands for all.
    const TYPES: &'static [&'static str];

    /// Reads it from an event.
    fn read(event: &Event) -> Result<Self, serde_json::Error>;
}

impl<P: Payload + DeserializeOwned + Send + Sync + 'static> Message for P {
    const TYPES: &'static [&'static str] = &[P::TYPE];

    fn read(event: &Event) -> Result<Self, serde_json::Error> {
        P::deserialize(&event.payload)
    }
}

/// Accepts every event.
impl Message for Event {
    const TYPES: &'static [&'static str] = &["*"];

    fn read(event: &Event) -> Result<Self, serde_json::Error> {
        Ok(event.clone())
    }
}

/// Accepts no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Never {}

impl Message for Never {
    const TYPES: &'static [&'static str] = &[];

    fn read(_: &Event) -> Result<Self, serde_json::Error> {
        Err(serde::de::Error::custom("no event is accepted"))
    }
}

/// The state of an outbox entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OutboxStatus {
    /// Committed, and not yet acknowledged by every destination.
    Pending,
    /// Claimed by a sweeper.
    InFlight,
    /// Acknowledged by every destination.
    Published,
    /// Given up; an operator decides.
    Failed,
}

impl OutboxStatus {
    /// The status of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Pending, Self::InFlight, Self::Published, Self::Failed]
            .into_iter()
            .find(|status| status.as_str() == name)
    }

    /// The name as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::InFlight => "IN_FLIGHT",
            Self::Published => "PUBLISHED",
            Self::Failed => "FAILED",
        }
    }
}
