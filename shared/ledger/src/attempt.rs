//! Trying again: the one place that knows which failures of DynamoDB may pass.
//!
//! The SDK's own retries are switched off (see `runtime`), so that every attempt is counted and every wait has
//! jitter.

use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use domain::backoff::Backoff;

use crate::Ledger;
use crate::error::{LedgerError, causes};

/// How often to try, and how long to wait between.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// The most attempts, the first one included.
    pub attempts: u32,
    /// The waits between them.
    pub backoff: Backoff,
    /// No new attempt begins after this long: what a function's own timeout leaves room for, so that a caller gets
    /// our answer and not the platform's.
    pub within: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 8,
            backoff: Backoff { base: Duration::from_millis(10), cap: Duration::from_millis(400), ..Backoff::default() },
            within: Duration::from_secs(3),
        }
    }
}

impl Patience {
    /// Waits after attempt number `attempt`.
    pub(crate) async fn wait(&self, attempt: u32) {
        tokio::time::sleep(self.backoff.after(attempt, rand::random())).await;
    }
}

/// What a failed attempt means for the next one.
pub(crate) enum Fate<T> {
    /// It came to an end.
    Done(T),
    /// Somebody else was at the same items at the same moment.
    Conflict,
    /// Throttled, out of reach, or the answer was lost.
    Unavailable(String),
    /// Trying again cannot help.
    Refused(String),
}

impl Ledger {
    /// Runs `operation` until it comes to an end or patience does.
    pub(crate) async fn attempt<T, F>(&self, mut operation: impl FnMut() -> F) -> Result<T, LedgerError>
    where
        F: Future<Output = Fate<T>>,
    {
        let begun = tokio::time::Instant::now();
        let mut attempt = 1;
        loop {
            // Boxed: the SDK's futures are kilobytes, and nest too deep for the compiler inside a batch of batches.
            let failure = match Box::pin(operation()).await {
                Fate::Done(value) => return Ok(value),
                Fate::Refused(reason) => return Err(LedgerError::Refused { reason }),
                Fate::Conflict => LedgerError::Contended { attempts: attempt },
                Fate::Unavailable(reason) => LedgerError::Unavailable { attempts: attempt, reason },
            };
            if attempt >= self.patience.attempts || begun.elapsed() >= self.patience.within {
                return Err(failure);
            }
            tracing::debug!(attempt, %failure, "trying again");
            self.patience.wait(attempt).await;
            attempt += 1;
        }
    }
}

/// Sorts an SDK error that the caller has no special meaning for.
pub(crate) fn fate<T, E, R>(error: &SdkError<E, R>) -> Fate<T>
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    match error {
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) | SdkError::ResponseError(_) => {
            Fate::Unavailable(causes(error))
        }
        SdkError::ServiceError(service) => fate_of_code(service.err().code(), service.err().message()),
        _ => Fate::Refused(causes(error)),
    }
}

/// Sorts an error code, of a whole call or of one item's cancellation reason.
pub(crate) fn fate_of_code<T>(code: Option<&str>, message: Option<&str>) -> Fate<T> {
    let reason = || format!("{}: {}", code.unwrap_or("no code"), message.unwrap_or("no message"));
    match code {
        Some("TransactionConflict" | "TransactionConflictException" | "TransactionInProgressException") => {
            Fate::Conflict
        }
        Some(
            "ThrottlingError"
            | "ThrottlingException"
            | "ProvisionedThroughputExceeded"
            | "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "InternalServerError"
            | "InternalFailure"
            | "ServiceUnavailable"
            | "ServiceUnavailableException",
        )
        | None => Fate::Unavailable(reason()),
        Some(_) => Fate::Refused(reason()),
    }
}
