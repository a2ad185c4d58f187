//! Errors of the runtime.

use belfry_core::{Corrupt, Failure, Unwritable};

/// Why an operation failed. Nothing was written in part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Concurrent changes to the same items, for as long as the retry policy allows.
    #[error("contended after {attempts} attempts")]
    Contended {
        /// The number of attempts.
        attempts: u32,
    },
    /// DynamoDB or SQS could not be reached or throttled, for as long as the retry policy allows.
    #[error("unavailable after {attempts} attempts: {reason}")]
    Unavailable {
        /// The number of attempts.
        attempts: u32,
        /// The last failure.
        reason: String,
    },
    /// DynamoDB or SQS refused the request. A retry cannot help.
    #[error("refused: {reason}")]
    Refused {
        /// The code and message of the refusal.
        reason: String,
    },
    /// A stored item cannot be read.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// A commit cannot be written.
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Contended { .. } | Error::Unavailable { .. } => Self::Unavailable(error.to_string()),
            Error::Refused { .. } => Self::Retry(error.to_string()),
            Error::Corrupt(_) | Error::Unwritable(_) => Self::Reject(error.to_string()),
        }
    }
}

/// An error and its causes in one line. Unlike `Debug`, it shows no request and no response.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// What Lambda logs and shows of a failed invocation.
impl From<Error> for lambda_runtime::Diagnostic {
    fn from(error: Error) -> Self {
        Self { error_type: "belfry_aws::Error".to_owned(), error_message: error.to_string() }
    }
}
