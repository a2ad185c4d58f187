//! Redriving many: which dead letters are meant, and the job that works them off part by part.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::DeadLetterStatus;
use crate::{Event, Fresh, Time, Trace};

/// The event type of a job that redrives many.
pub const REDRIVE_REQUESTED: &str = "DeadLettersRedriveRequested";

/// Which dead letters are meant. What is absent is not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeadLetterFilter {
    /// Of this queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Of this event type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// With this in the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Given up on at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Given up on before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Standing so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DeadLetterStatus>,
}

/// The payload of `DeadLettersRedriveRequested`: a job, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RedriveJob {
    /// The job.
    pub job_id: Uuid,
    /// Which dead letters.
    pub selection: Selection,
    /// How many there were when it was asked for.
    pub matched: u64,
    /// Everything before this is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Which part of the job this is, from 1.
    pub part: u64,
}

/// Which dead letters a job redrives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// These.
    Ids(Vec<Uuid>),
    /// All open ones that match. Bounded in time, so that what fails again meanwhile is not redriven again.
    Filter(DeadLetterFilter),
}

impl RedriveJob {
    /// The event that makes the next part of the job happen.
    pub fn requested(
        &self,
        fresh: &Fresh,
        actor: Option<String>,
        trace: Option<Trace>,
    ) -> Result<Event, serde_json::Error> {
        Ok(Event {
            event_id: fresh.event_id.into(),
            event_type: REDRIVE_REQUESTED.to_owned(),
            aggregate_type: "RedriveJob".to_owned(),
            aggregate_id: self.job_id.to_string(),
            version: Some(self.part),
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor,
            traceparent: trace,
            payload: serde_json::to_value(self)?,
        })
    }

    /// Reads the payload of an event.
    pub fn parse(payload: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(payload)
    }
}
