//! What is known of a secret, and for how long that will do.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::client::Failure;

/// How long a value is used before it is fetched again.
const LIFETIME: Duration = Duration::from_secs(300);

/// How long nobody asks again after a failure, while there is a value to go on with.
const PAUSE_WITH_VALUE: Duration = Duration::from_secs(10);

/// The same while there is none: long enough for everybody who waits to get the same answer.
const PAUSE_WITHOUT_VALUE: Duration = Duration::from_secs(1);

/// How often a value that a provider refuses is fetched at most: a key that is simply wrong is refused every time.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(10);

/// What is known of a secret.
pub(super) struct Known<T> {
    pub(super) current: Option<Version<T>>,
    pub(super) previous: Option<Version<T>>,
    pub(super) fetched_at: Option<SystemTime>,
    pub(super) refetched_at: Option<SystemTime>,
    /// Why the last fetch failed.
    pub(super) failure: Option<Failure>,
}

pub(super) struct Version<T> {
    pub(super) text: String,
    pub(super) value: Arc<T>,
}

/// What a caller wants of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Not older than its lifetime.
    Fresh,
    /// As it is now.
    Refetched,
}

impl<T> Known<T> {
    /// Whether what is known, or that nothing is, answers for now.
    pub(super) fn is_settled(&self, wanted: Wanted, now: SystemTime) -> bool {
        let (since, pause) = match wanted {
            Wanted::Refetched => (self.refetched_at, PAUSE_AFTER_REFUSAL),
            Wanted::Fresh if self.failure.is_none() => (self.fetched_at, LIFETIME),
            Wanted::Fresh if self.current.is_some() => (self.fetched_at, PAUSE_WITH_VALUE),
            Wanted::Fresh => (self.fetched_at, PAUSE_WITHOUT_VALUE),
        };
        // A clock that was set back says nothing about an age.
        since.is_some_and(|since| now.duration_since(since).is_ok_and(|age| age < pause))
    }
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { current: None, previous: None, fetched_at: None, refetched_at: None, failure: None }
    }
}
