//! Events: facts that a command or a consumer produced, or that a source system handed in.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::{Uuid, Version};

use crate::{EventId, Time};

pub use belfry_core::{Event, OutboxStatus};

/// What a decision may not make for itself: the time and an id. A new one for every attempt.
#[derive(Debug, Clone, Copy)]
pub struct Fresh {
    /// The moment of the decision.
    pub now: Time,
    /// The id of the event that the decision may produce.
    pub event_id: Uuid,
}

impl Fresh {
    /// The clock's time and a new UUID v7. Only handlers call this.
    pub fn new() -> Self {
        Self { now: Time::now(), event_id: Uuid::now_v7() }
    }

    /// The same moment with another id, for the next event of the same decision.
    ///
    /// The id is derived, because a decision may not make one: a UUID v7 of the same time, whose other bits are a hash of
    /// the first id.
    #[must_use]
    pub fn next(&self) -> Self {
        let mut bytes = *self.event_id.as_bytes();
        // The first six bytes are the time.
        bytes[6..].copy_from_slice(&Sha256::digest(self.event_id)[..10]);
        Self {
            now: self.now,
            event_id: uuid::Builder::from_random_bytes(bytes).with_version(Version::SortRand).into_uuid(),
        }
    }
}

impl Default for Fresh {
    fn default() -> Self {
        Self::new()
    }
}

/// The event type of a republication.
pub const REPUBLISHED: &str = "OutboxRepublished";

/// The payload of `OutboxRepublished`: an operator sent an entry to all of its queues again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OutboxRepublished {
    /// The event that goes out again.
    pub republished_event_id: EventId,
    /// Where its entry stood before.
    pub status_before: OutboxStatus,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_id_of_a_decision_is_another_one_of_the_same_moment_and_always_the_same() {
        let fresh = Fresh::new();
        let (next, again) = (fresh.next(), fresh.next());
        assert_eq!((next.now, next.event_id), (again.now, again.event_id));
        assert_ne!(next.event_id, fresh.event_id);
        assert_ne!(next.next().event_id, fresh.event_id);
        assert_eq!(next.event_id.get_version_num(), 7);
        assert_eq!(next.event_id.get_timestamp(), fresh.event_id.get_timestamp());
    }
}
