//! Errors of payment calls, classified by what the caller does next.

use std::fmt;

/// The call was not done, or it is unknown whether it was. The provider's own text is left out, because it quotes the
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaymentError {
    /// The provider failed, throttled, was busy with the same key, was unreachable or did not answer. The call may have
    /// been done: repeat it under the same key.
    #[error("transient error: {0}")]
    Transient(Reason),
    /// The provider refuses the call, now and later, until the request or the settings change.
    #[error("refused: {0}")]
    Refused(Reason),
}

impl PaymentError {
    /// Returns what the network or the provider reported.
    pub fn reason(&self) -> Reason {
        match *self {
            Self::Transient(reason) | Self::Refused(reason) => reason,
        }
    }
}

/// The reason, made of fixed texts and numbers. It holds nothing that the provider wrote, so it may be stored and logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    text: Option<&'static str>,
    status: Option<u16>,
}

impl Reason {
    /// The reason for a call without an answer, or without an HTTP error.
    pub(crate) const fn text(text: &'static str) -> Self {
        Self { text: Some(text), status: None }
    }

    /// An HTTP status, with the provider's code if it is a known one.
    pub(crate) const fn http(status: u16, code: Option<&'static str>) -> Self {
        Self { text: code, status: Some(status) }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.text, self.status) {
            (Some(code), Some(status)) => write!(f, "{code} (HTTP {status})"),
            (None, Some(status)) => write!(f, "HTTP {status}"),
            (text, None) => f.write_str(text.unwrap_or("no reason given")),
        }
    }
}
