//! Reservations: a table asked for at a restaurant, who decides on it, and the four events of its life.
//!
//! ```text
//! REQUESTED ──accept──▶ ACCEPTED ──cancel──▶ CANCELLED
//!     ├──────reject──▶ REJECTED                 ▲
//!     └──────cancel─────────────────────────────┘
//! ```

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{AgencyId, RestaurantId};
use crate::{Event, Fresh, Time, UserId};

/// The event type of a request.
pub const REQUESTED: &str = "ReservationRequested";
/// The event type of an acceptance.
pub const ACCEPTED: &str = "ReservationAccepted";
/// The event type of a rejection.
pub const REJECTED: &str = "ReservationRejected";
/// The event type of a cancellation.
pub const CANCELLED: &str = "ReservationCancelled";

/// The aggregate: one table at one time. Whose it is and what was asked for never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Its own id.
    pub reservation_id: Uuid,
    /// What was asked for.
    #[serde(flatten)]
    pub asked: ReservationRequest,
    /// Where it stands.
    pub status: ReservationStatus,
    /// Whoever took the last step: accepted, rejected or cancelled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Grows by one with each change, from 1.
    pub version: u64,
    /// When it was requested.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// What is asked for: the body of `POST /v1/reservations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReservationRequest {
    /// Who comes.
    pub customer_id: UserId,
    /// Where to.
    pub restaurant_id: RestaurantId,
    /// Through which agency, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agency_id: Option<AgencyId>,
    /// How many of them.
    pub party_size: PartySize,
    /// When.
    pub slot_time: Time,
}

/// How many people come: 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minimum" = 1, "maximum" = PartySize::LARGEST)))]
#[serde(into = "u64", try_from = "u64")]
pub struct PartySize(u64);

/// The number cannot be a party's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from 1 to 100")]
pub struct NotAPartySize;

impl PartySize {
    /// The most people that one reservation is for.
    pub const LARGEST: u64 = 100;
}

impl From<PartySize> for u64 {
    fn from(size: PartySize) -> Self {
        size.0
    }
}

impl TryFrom<u64> for PartySize {
    type Error = NotAPartySize;

    fn try_from(number: u64) -> Result<Self, NotAPartySize> {
        if (1..=Self::LARGEST).contains(&number) { Ok(Self(number)) } else { Err(NotAPartySize) }
    }
}

/// Where a reservation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReservationStatus {
    /// The restaurant has not decided yet.
    Requested,
    /// The table is kept.
    Accepted,
    /// The restaurant said no.
    Rejected,
    /// It was called off.
    Cancelled,
}

impl ReservationStatus {
    /// The name as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "REQUESTED",
            Self::Accepted => "ACCEPTED",
            Self::Rejected => "REJECTED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// The type of the event that leads to this status; each has its own.
    pub fn event_type(self) -> &'static str {
        match self {
            Self::Requested => REQUESTED,
            Self::Accepted => ACCEPTED,
            Self::Rejected => REJECTED,
            Self::Cancelled => CANCELLED,
        }
    }
}

/// What can be done to a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The restaurant says yes.
    Accept,
    /// The restaurant says no.
    Reject,
    /// Either side calls it off.
    Cancel,
}

/// The reservation does not stand where this step begins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("already {}", .status.as_str())]
pub struct StepRefused {
    /// Where it stands.
    pub status: ReservationStatus,
}

/// The time asked for has begun or is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must lie in the future")]
pub struct SlotHasPassed;

/// Where a step leads from here, or that it may not be taken. Whoever takes steps asks this, by whatever door they come.
pub fn decide(status: ReservationStatus, step: Step) -> Result<ReservationStatus, StepRefused> {
    match (status, step) {
        (ReservationStatus::Requested, Step::Accept) => Ok(ReservationStatus::Accepted),
        (ReservationStatus::Requested, Step::Reject) => Ok(ReservationStatus::Rejected),
        (ReservationStatus::Requested | ReservationStatus::Accepted, Step::Cancel) => Ok(ReservationStatus::Cancelled),
        (ReservationStatus::Accepted, Step::Accept | Step::Reject)
        | (ReservationStatus::Rejected | ReservationStatus::Cancelled, _) => Err(StepRefused { status }),
    }
}

/// The payload of the four events of a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReservationChanged {
    /// The event's id, repeated so that the payload can be read alone.
    pub event_id: String,
    /// `ReservationRequested`, `ReservationAccepted`, `ReservationRejected` or `ReservationCancelled`.
    pub event_type: String,
    /// When it changed.
    pub occurred_at: Time,
    /// Which reservation.
    pub reservation_id: Uuid,
    /// Who comes.
    pub customer_id: UserId,
    /// Where to.
    pub restaurant_id: RestaurantId,
    /// Through which agency, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agency_id: Option<AgencyId>,
    /// How many of them.
    pub party_size: PartySize,
    /// When.
    pub slot_time: Time,
    /// Where it stands after the change.
    pub status: ReservationStatus,
    /// The reservation's version after the change.
    pub version: u64,
    /// Whoever accepted, rejected or cancelled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

impl Reservation {
    /// The kind under which the history of reservations is kept.
    pub const AGGREGATE: &'static str = "Reservation";

    /// A reservation as it begins: the time asked for must lie ahead.
    pub fn request(id: Uuid, asked: ReservationRequest, fresh: &Fresh) -> Result<Self, SlotHasPassed> {
        if asked.slot_time <= fresh.now {
            return Err(SlotHasPassed);
        }
        Ok(Self {
            reservation_id: id,
            asked,
            status: ReservationStatus::Requested,
            decided_by: None,
            version: 1,
            created_at: fresh.now,
            updated_at: fresh.now,
        })
    }

    /// The reservation after this step of `by`.
    pub fn after(&self, step: Step, by: &str, fresh: &Fresh) -> Result<Self, StepRefused> {
        Ok(Self {
            status: decide(self.status, step)?,
            decided_by: Some(by.to_owned()),
            version: self.version + 1,
            updated_at: fresh.now,
            ..self.clone()
        })
    }

    /// The event that reports that this reservation came to stand as it does.
    pub fn changed(&self, fresh: &Fresh, actor: &str) -> Result<Event, serde_json::Error> {
        let event_type = self.status.event_type();
        let payload = ReservationChanged {
            event_id: fresh.event_id.to_string(),
            event_type: event_type.to_owned(),
            occurred_at: fresh.now,
            reservation_id: self.reservation_id,
            customer_id: self.asked.customer_id.clone(),
            restaurant_id: self.asked.restaurant_id.clone(),
            agency_id: self.asked.agency_id.clone(),
            party_size: self.asked.party_size,
            slot_time: self.asked.slot_time,
            status: self.status,
            version: self.version,
            decided_by: self.decided_by.clone(),
        };
        Ok(Event {
            event_id: fresh.event_id.into(),
            event_type: event_type.to_owned(),
            aggregate_type: Self::AGGREGATE.to_owned(),
            aggregate_id: self.reservation_id.to_string(),
            version: Some(self.version),
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor: Some(actor.to_owned()),
            traceparent: None,
            payload: serde_json::to_value(payload)?,
        })
    }
}

#[cfg(test)]
mod tests;
