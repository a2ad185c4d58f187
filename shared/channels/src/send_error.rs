//! The result of a send without a receipt, classified by what the caller does next.

use std::fmt;
use std::time::Duration;

/// A message was not sent, or it is unknown whether it was. The provider's own text is left out, because it quotes
/// addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The provider failed internally. It counts as an attempt; a retry may succeed.
    #[error("failed: {0}")]
    Failed(Reason),
    /// Nothing was sent: the provider is unreachable, throttles, or refuses our credentials until an operator acts. Retry
    /// later, without counting an attempt.
    #[error("unavailable: {reason}")]
    Unavailable {
        /// What the network or the provider reported.
        reason: Reason,
        /// When to retry, if the provider says so.
        retry_after: Option<Duration>,
    },
    /// The provider does not accept this message, now or later.
    #[error("refused: {0}")]
    Refused(Reason),
    /// The provider no longer accepts anything for this address: remove or suppress it.
    #[error("address is dead: {0}")]
    AddressDead(Reason),
    /// The message was handed over and no answer came: it may have been sent.
    #[error("outcome unknown: {0}")]
    Unknown(Reason),
}

impl SendError {
    /// Returns what the network or the provider reported.
    pub fn reason(&self) -> Reason {
        match *self {
            Self::Failed(reason)
            | Self::Unavailable { reason, .. }
            | Self::Refused(reason)
            | Self::AddressDead(reason)
            | Self::Unknown(reason) => reason,
        }
    }
}

/// The reason, made of fixed texts and numbers. It holds nothing that the provider wrote, so it may be stored and logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    text: Option<&'static str>,
    answer: AnswerCode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerCode {
    None,
    Http(u16),
    Smtp(u16, Option<EnhancedCode>),
}

/// SMTP's enhanced status code (RFC 3463), such as 5.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EnhancedCode {
    pub(crate) class: u8,
    pub(crate) subject: u16,
    pub(crate) detail: u16,
}

impl Reason {
    /// The reason for a send without an answer.
    pub(crate) const fn text(text: &'static str) -> Self {
        Self { text: Some(text), answer: AnswerCode::None }
    }

    /// An HTTP status, with the provider's code if it is a known one.
    pub(crate) const fn http(status: u16, code: Option<&'static str>) -> Self {
        Self { text: code, answer: AnswerCode::Http(status) }
    }

    /// An SMTP reply, and the step that it answers.
    pub(crate) const fn smtp(code: u16, enhanced: Option<EnhancedCode>, step: &'static str) -> Self {
        Self { text: Some(step), answer: AnswerCode::Smtp(code, enhanced) }
    }

    pub(crate) const fn failed(self) -> SendError {
        SendError::Failed(self)
    }

    pub(crate) const fn unavailable(self) -> SendError {
        SendError::Unavailable { reason: self, retry_after: None }
    }

    pub(crate) const fn refused(self) -> SendError {
        SendError::Refused(self)
    }

    pub(crate) const fn address_dead(self) -> SendError {
        SendError::AddressDead(self)
    }

    pub(crate) const fn unknown(self) -> SendError {
        SendError::Unknown(self)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.answer, self.text) {
            (AnswerCode::None, text) => f.write_str(text.unwrap_or("no reason given")),
            (AnswerCode::Http(status), Some(code)) => write!(f, "{code} (HTTP {status})"),
            (AnswerCode::Http(status), None) => write!(f, "HTTP {status}"),
            (AnswerCode::Smtp(code, enhanced), step) => {
                write!(f, "{code}")?;
                if let Some(EnhancedCode { class, subject, detail }) = enhanced {
                    write!(f, " {class}.{subject}.{detail}")?;
                }
                write!(f, " to {}", step.unwrap_or("the message"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_displayed_with_its_codes() {
        let enhanced = EnhancedCode { class: 5, subject: 1, detail: 1 };
        for (reason, text) in [
            (Reason::text("no answer within the time limit"), "no answer within the time limit"),
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
