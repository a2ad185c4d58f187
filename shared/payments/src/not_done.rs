//! How a call ends without having been done, sorted by what its caller does next.

use std::fmt;

/// The provider did not do it, or nobody can tell. Its own words are left behind on purpose: they quote the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// The provider failed, throttled, was busy with the same key, was out of reach or did not answer. It may have been
    /// done: only the same call under the same key finds out.
    #[error("failed for now: {0}")]
    Transient(Reason),
    /// The provider does not do this, now or later, before somebody mends the request or the settings.
    #[error("refused: {0}")]
    Refused(Reason),
}

impl NotDone {
    /// Why.
    pub fn reason(&self) -> Reason {
        match *self {
            Self::Transient(reason) | Self::Refused(reason) => reason,
        }
    }
}

/// Why, in fixed words and numbers. A text from outside cannot become one, so it can be stored and logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    word: Option<&'static str>,
    status: Option<u16>,
}

impl Reason {
    /// What happened where no answer came, or none that says more.
    pub(crate) const fn word(word: &'static str) -> Self {
        Self { word: Some(word), status: None }
    }

    /// An HTTP answer, with the provider's code if it is one that we know.
    pub(crate) const fn http(status: u16, word: Option<&'static str>) -> Self {
        Self { word, status: Some(status) }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.word, self.status) {
            (Some(word), Some(status)) => write!(f, "{word} (HTTP {status})"),
            (None, Some(status)) => write!(f, "HTTP {status}"),
            (word, None) => f.write_str(word.unwrap_or("no reason given")),
        }
    }
}
