//! How a send ends without a receipt, sorted by what its caller does next.

use std::fmt;
use std::time::Duration;

/// A message was not sent, or nobody can tell. The provider's own words are left behind on purpose: they quote
/// addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// The provider failed inside. It counts as an attempt and may go better next time.
    #[error("failed: {reason}")]
    Failed {
        /// Why.
        reason: Reason,
    },
    /// Nothing was handed over: the provider is out of reach, throttles, or does not let us in before an operator has
    /// mended something. To be tried later, without counting.
    #[error("unavailable: {reason}")]
    Unavailable {
        /// Why.
        reason: Reason,
        /// When the provider wants to be asked again, if it says so.
        retry_after: Option<Duration>,
    },
    /// The provider does not take this message, now or later.
    #[error("refused: {reason}")]
    Refused {
        /// Why.
        reason: Reason,
    },
    /// The provider takes nothing for this address any more: it is to be removed or suppressed.
    #[error("address is dead: {reason}")]
    AddressDead {
        /// Why.
        reason: Reason,
    },
    /// The message was handed over and no answer came: it may have been sent.
    #[error("unknown: {reason}")]
    Unknown {
        /// Why.
        reason: Reason,
    },
}

impl NotSent {
    /// Why.
    pub fn reason(&self) -> Reason {
        match *self {
            Self::Failed { reason }
            | Self::Unavailable { reason, .. }
            | Self::Refused { reason }
            | Self::AddressDead { reason }
            | Self::Unknown { reason } => reason,
        }
    }
}

/// Why, in fixed words and numbers. A text from outside cannot become one, so it can be stored and logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    word: Option<&'static str>,
    answered: Answered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answered {
    Nothing,
    Http(u16),
    Smtp(u16, Option<EnhancedCode>),
}

/// SMTP's second, finer code (RFC 3463), such as 5.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EnhancedCode {
    pub(crate) class: u8,
    pub(crate) subject: u16,
    pub(crate) detail: u16,
}

impl Reason {
    /// What happened where no answer came.
    pub(crate) const fn word(word: &'static str) -> Self {
        Self { word: Some(word), answered: Answered::Nothing }
    }

    /// An HTTP answer, with the provider's code if it is one that we know.
    pub(crate) const fn http(status: u16, word: Option<&'static str>) -> Self {
        Self { word, answered: Answered::Http(status) }
    }

    /// An SMTP reply, and what it replied to.
    pub(crate) const fn smtp(code: u16, enhanced: Option<EnhancedCode>, to: &'static str) -> Self {
        Self { word: Some(to), answered: Answered::Smtp(code, enhanced) }
    }

    pub(crate) const fn failed(self) -> NotSent {
        NotSent::Failed { reason: self }
    }

    pub(crate) const fn unavailable(self) -> NotSent {
        NotSent::Unavailable { reason: self, retry_after: None }
    }

    pub(crate) const fn refused(self) -> NotSent {
        NotSent::Refused { reason: self }
    }

    pub(crate) const fn address_dead(self) -> NotSent {
        NotSent::AddressDead { reason: self }
    }

    pub(crate) const fn unknown(self) -> NotSent {
        NotSent::Unknown { reason: self }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.answered, self.word) {
            (Answered::Nothing, word) => f.write_str(word.unwrap_or("no reason given")),
            (Answered::Http(status), Some(word)) => write!(f, "{word} (HTTP {status})"),
            (Answered::Http(status), None) => write!(f, "HTTP {status}"),
            (Answered::Smtp(code, enhanced), to) => {
                write!(f, "{code}")?;
                if let Some(EnhancedCode { class, subject, detail }) = enhanced {
                    write!(f, " {class}.{subject}.{detail}")?;
                }
                write!(f, " to {}", to.unwrap_or("the message"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_reads_like_the_answer_it_stands_for() {
        let enhanced = EnhancedCode { class: 5, subject: 1, detail: 1 };
        for (reason, text) in [
            (Reason::word("no answer in time"), "no answer in time"),
            (Reason::http(404, Some("UNREGISTERED")), "UNREGISTERED (HTTP 404)"),
            (Reason::http(500, None), "HTTP 500"),
            (Reason::smtp(550, Some(enhanced), "RCPT"), "550 5.1.1 to RCPT"),
            (Reason::smtp(421, None, "MAIL"), "421 to MAIL"),
        ] {
            assert_eq!(reason.to_string(), text);
        }
        assert_eq!(Reason::http(500, None).failed().to_string(), "failed: HTTP 500");
    }
}
