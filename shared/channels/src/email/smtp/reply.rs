//! Classification of SMTP replies by the step that they answer. Only a reply's codes are kept, because its text quotes the
//! address.

use std::error::Error as _;

use lettre::transport::smtp::Error;

use crate::send_error::EnhancedCode;
use crate::{Reason, SendError};

/// A reply to the connection, STARTTLS or AUTH. Any failure concerns the server, not this mail.
pub(super) fn to_sign_in(error: &Error, step: &'static str) -> SendError {
    match ReplyCodes::of(error) {
        Some(codes) => codes.reason(step).unavailable(),
        None => no_reply(error),
    }
}

/// Returns whether the reply is a permanent failure.
pub(super) fn is_permanent(error: &Error) -> bool {
    ReplyCodes::of(error).is_some_and(ReplyCodes::is_permanent)
}

/// A reply to MAIL.
pub(super) fn to_sender(error: &Error) -> SendError {
    before_mail(error, "MAIL", |codes| match codes.code {
        // The server requires a login, and none is configured.
        530 => codes.reason("MAIL").unavailable(),
        _ => codes.reason("MAIL").refused(),
    })
}

/// A reply to RCPT.
pub(super) fn to_recipient(error: &Error) -> SendError {
    before_mail(error, "RCPT", |codes| match codes.is_dead_address() {
        true => codes.reason("RCPT").address_dead(),
        false => codes.reason("RCPT").refused(),
    })
}

/// A reply to DATA.
pub(super) fn to_data(error: &Error) -> SendError {
    before_mail(error, "DATA", |codes| codes.reason("DATA").refused())
}

/// A reply to the message itself.
pub(super) fn to_mail(error: &Error) -> SendError {
    match ReplyCodes::of(error) {
        Some(codes) if codes.is_permanent() => codes.reason("the message").refused(),
        Some(codes) => codes.temporary("the message"),
        None => Reason::text("connection closed before the answer").unknown(),
    }
}

fn before_mail(error: &Error, step: &'static str, permanent: impl FnOnce(ReplyCodes) -> SendError) -> SendError {
    match ReplyCodes::of(error) {
        Some(codes) if codes.is_permanent() => permanent(codes),
        Some(codes) => codes.temporary(step),
        None => no_reply(error),
    }
}

/// No valid reply, before the message was sent.
fn no_reply(error: &Error) -> SendError {
    let word = match error {
        error if error.is_tls() => "TLS failed",
        error if error.is_client() => "server lacks a required capability",
        error if error.is_response() => "invalid SMTP reply",
        error if error.is_timeout() => "no answer within the time limit",
        _ => "cannot connect",
    };
    Reason::text(word).unavailable()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReplyCodes {
    code: u16,
    enhanced: Option<EnhancedCode>,
}

impl ReplyCodes {
    fn of(error: &Error) -> Option<Self> {
        let code = error.status()?.into();
        let text = error.source().map(ToString::to_string).unwrap_or_default();
        Some(Self { code, enhanced: enhanced(&text) })
    }

    fn is_permanent(self) -> bool {
        self.code >= 500
    }

    /// 421 means that the server closes the connection. Other 4xx concern this mail, such as a full mailbox or
    /// greylisting.
    fn temporary(self, step: &'static str) -> SendError {
        match self.code {
            421 => self.reason(step).unavailable(),
            _ => self.reason(step).failed(),
        }
    }

    /// 550, 551 and 553 are used for unknown mailboxes, but also for unwanted senders and denied relaying. With an enhanced
    /// code, only those about the mailbox count: x.1.z except the two about the sender, and x.2.1, a disabled mailbox.
    fn is_dead_address(self) -> bool {
        let about_mailbox = match self.enhanced {
            None => true,
            Some(EnhancedCode { subject: 1, detail, .. }) => !matches!(detail, 7 | 8),
            Some(EnhancedCode { subject, detail, .. }) => (subject, detail) == (2, 1),
        };
        matches!(self.code, 550 | 551 | 553) && about_mailbox
    }

    fn reason(self, step: &'static str) -> Reason {
        Reason::smtp(self.code, self.enhanced, step)
    }
}

fn enhanced(text: &str) -> Option<EnhancedCode> {
    let mut numbers = text.split_whitespace().next()?.split('.');
    let mut number = |longest: usize| {
        let digits = numbers.next()?;
        let fits = digits.len() <= longest && digits.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| digits.parse::<u16>().ok()).flatten()
    };
    let (class, subject, detail) = (number(1)?, number(3)?, number(3)?);
    Some(EnhancedCode { class: class.try_into().ok()?, subject, detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(code: u16, text: &str) -> ReplyCodes {
        ReplyCodes { code, enhanced: enhanced(text) }
    }

    #[test]
    fn address_is_dead_only_if_the_reply_is_about_the_mailbox() {
        for (code, text) in [
            (550, "No such user here"),
            (550, "5.1.1 <ada@example.com>: Recipient address rejected"),
            (550, "5.2.1 The account is disabled"),
            (551, "5.1.6 moved"),
            (553, "5.1.3 bad syntax"),
        ] {
            assert!(codes(code, text).is_dead_address(), "{code} {text}");
        }
        for (code, text) in [
            (550, "5.7.1 Relaying denied"),
            (550, "5.1.8 Sender's domain does not exist"),
            (553, "5.1.7 Bad sender"),
            (550, "5.4.1 Access denied"),
            (552, "5.2.2 Mailbox full"),
            (554, "5.1.1 Refused"),
        ] {
            assert!(!codes(code, text).is_dead_address(), "{code} {text}");
        }
    }

    #[test]
    fn enhanced_code_is_three_numbers_at_the_start() {
        let code = |class, subject, detail| Some(EnhancedCode { class, subject, detail });
        assert_eq!(enhanced("5.1.1 no such user"), code(5, 1, 1));
        assert_eq!(enhanced("4.7.650 slow down"), code(4, 7, 650));
        for text in ["", "no such user", "5.1 x", "127.0.0.1 refused", "+5.1.1", "a.b.c"] {
            assert_eq!(enhanced(text), None, "{text}");
        }
    }
}
