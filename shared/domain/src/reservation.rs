//! Reservations: a table requested at a restaurant, the steps of it, and its four events.
//!
//! ```text
//! REQUESTED ──accept──▶ ACCEPTED ──cancel──▶ CANCELLED
//!     ├──────reject──▶ REJECTED                 ▲
//!     └──────cancel─────────────────────────────┘
//! ```

use belfry_core::{Entity, EventDraft, Keep, Key, Refusal, Revision, Stamp, Table};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{AgencyId, RestaurantId};
use crate::{Time, UserId};

/// The event type of a request.
pub const REQUESTED: &str = "ReservationRequested";
/// The event type of an acceptance.
pub const ACCEPTED: &str = "ReservationAccepted";
/// The event type of a rejection.
pub const REJECTED: &str = "ReservationRejected";
/// The event type of a cancellation.
pub const CANCELLED: &str = "ReservationCancelled";

/// One table at one time. Who requested what never changes.
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

/// The reservation does not have a status in which this step can be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("already {}", .status.as_str())]
pub struct StepRefused {
    /// Its status.
    pub status: ReservationStatus,
}

/// The requested time is not in the future.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must lie in the future")]
pub struct SlotHasPassed;

/// Why a request or a step of a reservation is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReservationRefusal {
    /// There is none, or the caller may not see it.
    #[error("no such reservation")]
    Unknown,
    /// The caller may see it, but not do this.
    #[error("not for this caller")]
    NotAllowed,
    /// The requested time is not in the future.
    #[error(transparent)]
    SlotHasPassed(#[from] SlotHasPassed),
    /// The status does not allow the step.
    #[error(transparent)]
    Step(#[from] StepRefused),
}

impl Refusal for ReservationRefusal {
    /// Only what the status decides is stored: who may do what, and what time it is, may be another answer for a retry.
    fn keep(&self) -> Keep {
        match self {
            Self::Unknown | Self::NotAllowed | Self::SlotHasPassed(_) => Keep::DoNotStore,
            Self::Step(_) => Keep::Store,
        }
    }
}

/// The status after a step. Every use case that takes steps asks this function.
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

impl Entity for Reservation {
    const TABLE: Table = Table::new("reservations", "reservation_id");
    const KIND: &'static str = "Reservation";
    type Id<'a> = Uuid;

    fn key(id: Uuid) -> Key {
        id.into()
    }

    fn id(&self) -> Uuid {
        self.reservation_id
    }
}

impl Reservation {
    /// A new reservation. The requested time must lie in the future.
    pub fn request(id: Uuid, asked: ReservationRequest, now: Time) -> Result<Self, SlotHasPassed> {
        if asked.slot_time <= now {
            return Err(SlotHasPassed);
        }
        Ok(Self {
            reservation_id: id,
            asked,
            status: ReservationStatus::Requested,
            decided_by: None,
            created_at: now,
            updated_at: now,
        })
    }

    /// The reservation after this step of `by`.
    pub fn after(&self, step: Step, by: &str, now: Time) -> Result<Self, StepRefused> {
        let status = decide(self.status, step)?;
        Ok(Self { status, decided_by: Some(by.to_owned()), updated_at: now, ..self.clone() })
    }

    /// The event that reports what a reservation became.
    pub fn event(after: &Revision<Self>, stamp: Stamp) -> EventDraft {
        after.changed(after.version(), stamp)
    }

    /// The event that reports this version of it.
    pub fn changed(&self, version: u64, stamp: Stamp) -> EventDraft {
        let event_type = self.status.event_type();
        let payload = ReservationChanged {
            event_id: stamp.event_id.to_string(),
            event_type: event_type.to_owned(),
            occurred_at: stamp.now,
            reservation_id: self.reservation_id,
            customer_id: self.asked.customer_id.clone(),
            restaurant_id: self.asked.restaurant_id.clone(),
            agency_id: self.asked.agency_id.clone(),
            party_size: self.asked.party_size,
            slot_time: self.asked.slot_time,
            status: self.status,
            version,
            decided_by: self.decided_by.clone(),
        };
        EventDraft::new(event_type, (Self::KIND, self.reservation_id.to_string()), &payload).version(version)
    }
}

#[cfg(test)]
mod tests;
