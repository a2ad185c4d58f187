//! How a service reports what it has done: its own event, in the transaction of its effect.

use domain::{Event, Fresh};
use ledger::{Events, LedgerError, Write};
use messaging::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

/// The thing that an event happened to: the kind, the order, and its version after it.
#[derive(Debug, Clone, Copy)]
pub struct Of {
    /// The kind.
    pub kind: &'static str,
    /// Whose service says so.
    pub service: &'static str,
    /// The order.
    pub order_id: Uuid,
    /// The thing's version.
    pub version: Option<u64>,
}

/// Writes an event of this service, caused by another one.
pub fn event(
    events: &Events,
    (event_type, payload): (&str, &impl Serialize),
    of: Of,
    cause: &Event,
    fresh: &Fresh,
) -> Result<Write, LedgerError> {
    events.put(&Event {
        event_id: fresh.event_id.into(),
        event_type: event_type.to_owned(),
        aggregate_type: of.kind.to_owned(),
        aggregate_id: of.order_id.to_string(),
        version: of.version,
        occurred_at: fresh.now,
        recorded_at: fresh.now,
        actor: Some(of.service.to_owned()),
        traceparent: cause.traceparent.clone(),
        payload: serde_json::to_value(payload)?,
    })
}

/// Reads an event's payload.
pub fn payload<T: DeserializeOwned>(event: &Event) -> Result<T, Failure> {
    T::deserialize(&event.payload)
        .map_err(|error| Failure::Reject(format!("payload of {} cannot be read: {error}", event.event_type)))
}

/// An event that this service has nothing to do with.
pub fn not_ours<T>(event: &Event) -> Result<T, Failure> {
    Err(Failure::Reject(format!("nothing to do for {}", event.event_type)))
}
