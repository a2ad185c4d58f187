//! The context of an execution: what a decision may not make for itself.

use std::sync::Arc;
use std::time::Instant;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::commit::Commit;
use crate::{EventId, Timestamp, Trace};

/// The time, ids, actor and trace of one execution.
///
/// Ids are the same in every attempt and in every delivery of the same event. The time is that of the attempt.
#[derive(Debug, Clone)]
pub struct Context {
    now: Timestamp,
    execution: Uuid,
    actor: Option<Arc<str>>,
    trace: Option<Trace>,
    deadline: Option<Instant>,
}

impl Context {
    /// A context for jobs and for tests of decisions. The execution id decides all derived ids.
    pub fn new(now: Timestamp, execution: Uuid) -> Self {
        Self { now, execution, actor: None, trace: None, deadline: None }
    }

    /// A new execution at this moment.
    pub fn begin() -> Self {
        Self::new(Timestamp::now(), Uuid::now_v7())
    }

    /// The same execution at another time.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        Self { now, ..self.clone() }
    }

    /// Names who acts, for the audit trail.
    #[must_use]
    pub fn with_actor(mut self, actor: impl Into<Arc<str>>) -> Self {
        self.actor = Some(actor.into());
        self
    }

    /// Continues a trace.
    #[must_use]
    pub fn with_trace(mut self, trace: Option<Trace>) -> Self {
        self.trace = trace;
        self
    }

    /// Starts no new attempt after this moment.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }

    /// The time of this attempt.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The n-th id of this execution: a UUIDv7, the same in every attempt.
    pub fn id(&self, n: usize) -> Uuid {
        derived_id(self.execution, "id", n)
    }

    /// The id that the n-th event of a commit of this execution gets, for entities that store it.
    pub fn event_id(&self, n: usize) -> EventId {
        event_id(self.execution, n).into()
    }

    /// A part of this execution that commits by itself, before the rest. Its ids differ from those of the execution and of
    /// every other part, and are the same in every attempt and delivery.
    #[must_use]
    pub fn part(&self, n: usize) -> Self {
        Self { execution: derived_id(self.execution, "part", n), ..self.clone() }
    }

    /// The id of this execution.
    pub fn execution(&self) -> Uuid {
        self.execution
    }

    /// Who acts.
    pub fn actor(&self) -> Option<&str> {
        self.actor.as_deref()
    }

    /// The trace that the execution belongs to.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// No new attempt starts after this moment.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// An empty commit of this execution.
    pub fn commit(&self) -> Commit<()> {
        Commit::new(self.execution, self.now)
    }
}

/// A UUIDv7 with the time of `from`, whose other bits are a hash of `from`, `tag` and `n`.
pub fn derived_id(from: Uuid, tag: &str, n: usize) -> Uuid {
    let hash = Sha256::new().chain_update(from).chain_update(tag).chain_update((n as u64).to_be_bytes()).finalize();
    let mut bits = [0; 10];
    bits.copy_from_slice(&hash[..10]);
    let (seconds, nanos) = from.get_timestamp().map_or((0, 0), |time| time.to_unix());
    uuid::Builder::from_unix_timestamp_millis(seconds * 1_000 + u64::from(nanos) / 1_000_000, &bits).into_uuid()
}

pub(crate) fn event_id(execution: Uuid, n: usize) -> Uuid {
    derived_id(execution, "event", n)
}

/// The execution of a consumer for one event: the same for every delivery. Its time is the time at which the event was
/// recorded.
#[doc(hidden)]
pub fn execution_of(event_id: &str, recorded_at: Timestamp, consumer: &str) -> Uuid {
    let hash = Sha256::new().chain_update(event_id).chain_update([0]).chain_update(consumer).finalize();
    let mut bits = [0; 10];
    bits.copy_from_slice(&hash[..10]);
    let millis = u64::try_from(recorded_at.as_millis()).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(millis, &bits).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ids_are_stable_and_keep_the_time() {
        let execution = Uuid::now_v7();
        let (first, second) = (derived_id(execution, "event", 0), derived_id(execution, "event", 1));
        assert_eq!(first, derived_id(execution, "event", 0));
        assert_ne!(first, second);
        assert_ne!(first, derived_id(execution, "id", 0));
        assert_eq!(first.get_version_num(), 7);
        assert_eq!(first.get_timestamp(), execution.get_timestamp());
    }

    #[test]
    fn a_part_has_ids_of_its_own_in_every_attempt() {
        let ctx = Context::begin();
        let parts = [ctx.part(0), ctx.part(1)];
        assert_eq!(parts[0].event_id(0), ctx.part(0).event_id(0));
        assert_ne!(parts[0].event_id(0), parts[1].event_id(0));
        assert_ne!(parts[0].event_id(0), ctx.event_id(0));
    }
}
