//! Retries of one call: the only place that knows which failures of DynamoDB are transient.
//!
//! The SDK's own retries are switched off, so that every attempt is counted and every wait has jitter.

use std::time::Instant;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use belfry_core::RetryPolicy;

use crate::error::causes;
use crate::{Belfry, Error};

/// What came of one attempt.
pub(crate) enum AttemptOutcome<T> {
    Done(T),
    /// Another request was at the same items at the same moment.
    Conflict,
    /// Throttled, unreachable, or the response was lost.
    Unavailable(String),
    /// A retry cannot help.
    Refused(String),
}

/// Waits after this attempt.
pub(crate) async fn wait(policy: &RetryPolicy, attempt: u32) {
    tokio::time::sleep(policy.backoff.after(attempt, rand::random())).await;
}

impl Belfry {
    /// Runs `operation` until it is done or the retry policy or the deadline ends.
    pub(crate) async fn attempt<T, F>(&self, deadline: Option<Instant>, operation: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = AttemptOutcome<T>>,
    {
        let policy = &self.0.config.retry;
        let started = tokio::time::Instant::now();
        let mut attempt = 1;
        loop {
            // Boxed: the SDK's futures are kilobytes, and nest too deep for the compiler inside a batch of batches.
            let failure = match Box::pin(operation()).await {
                AttemptOutcome::Done(value) => return Ok(value),
                AttemptOutcome::Refused(reason) => return Err(Error::Refused { reason }),
                AttemptOutcome::Conflict => Error::Contended { attempts: attempt },
                AttemptOutcome::Unavailable(reason) => Error::Unavailable { attempts: attempt, reason },
            };
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if attempt >= policy.attempts || started.elapsed() >= policy.within || late {
                return Err(failure);
            }
            tracing::debug!(attempt, %failure, "DynamoDB call failed; retrying");
            wait(policy, attempt).await;
            attempt += 1;
        }
    }
}

/// Classifies an SDK error that has no special meaning for the caller.
pub(crate) fn classify<T, E, R>(error: &SdkError<E, R>) -> AttemptOutcome<T>
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    match error {
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) | SdkError::ResponseError(_) => {
            AttemptOutcome::Unavailable(causes(error))
        }
        SdkError::ServiceError(service) => classify_code(service.err().code(), service.err().message()),
        _ => AttemptOutcome::Refused(causes(error)),
    }
}

/// Classifies the error code of a call, or of one item's cancellation reason.
pub(crate) fn classify_code<T>(code: Option<&str>, message: Option<&str>) -> AttemptOutcome<T> {
    let reason = || format!("{}: {}", code.unwrap_or("no code"), message.unwrap_or("no message"));
    match code {
        Some("TransactionConflict" | "TransactionConflictException" | "TransactionInProgressException") => {
            AttemptOutcome::Conflict
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
        | None => AttemptOutcome::Unavailable(reason()),
        Some(_) => AttemptOutcome::Refused(reason()),
    }
}
