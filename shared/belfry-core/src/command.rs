//! Commands, refusals and failures.

use crate::Timestamp;
use crate::commit::Commit;
use crate::context::Context;
use crate::read::ReadSet;

/// What a command's decision receives: the output of its read set.
pub type Found<C> = <<C as Command>::Reads as ReadSet>::Output;

/// A request to change state.
///
/// `decide` is pure: it sees what was read and the context, and returns what to write. It is called again after a lost
/// race, with what stands then.
pub trait Command: Sync {
    /// The name in logs and metrics.
    const NAME: &'static str;

    /// The items that the decision depends on.
    type Reads: ReadSet;

    /// What an accepted command returns; its response is rendered from it.
    type Output;

    /// Why the command may be refused.
    type Refusal: Refusal;

    /// The items that the decision depends on. Every entity that the commit writes under a condition must be among them.
    fn reads(&self) -> Self::Reads;

    /// Decides what to write, or why not to.
    fn decide(&self, found: Found<Self>, ctx: &Context) -> Result<Commit<Self::Output>, Self::Refusal>
    where
        Self: Sized;
}

/// Why a command is refused.
pub trait Refusal: std::error::Error {
    /// What becomes of the refusal under its idempotency key.
    fn keep(&self) -> Keep;
}

/// What becomes of a refusal under its idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The state does not allow the command. The response is stored and replayed, even if the state changes later.
    Store,
    /// The refusal does not depend on the state (permissions, the time). It is not stored: a retry is decided anew.
    DoNotStore,
    /// Something is in progress that will end soon. It is not stored, and the client should retry.
    RetryLater,
}

impl Refusal for std::convert::Infallible {
    fn keep(&self) -> Keep {
        match *self {}
    }
}

/// Why a message could not be processed, which decides what happens to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A dependency is unavailable: throttling, contention, a timeout, denied access. Retried after a backoff.
    #[error("{0}")]
    Unavailable(String),
    /// This message failed and may succeed later. Retried after a backoff, a limited number of times.
    #[error("{0}")]
    Retry(String),
    /// The message came too early. Retried at that time.
    #[error("not before {0}")]
    RetryAt(Timestamp),
    /// The message will never succeed. Moved to the dead letters at once.
    #[error("{0}")]
    Reject(String),
}

impl Refusal for Failure {
    fn keep(&self) -> Keep {
        match self {
            Self::Unavailable(_) | Self::Retry(_) | Self::RetryAt(_) => Keep::RetryLater,
            Self::Reject(_) => Keep::DoNotStore,
        }
    }
}
