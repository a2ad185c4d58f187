//! What a mail server's replies mean, by the step that they reply to. Of a reply only its codes are kept: the text
//! quotes the address.

use std::error::Error as _;

use lettre::transport::smtp::Error;

use crate::not_sent::EnhancedCode;
use crate::{NotSent, Reason};

/// To the connection, STARTTLS or AUTH: whatever is wrong is wrong between the server and us, not with a mail.
pub(super) fn to_sign_in(error: &Error, step: &'static str) -> NotSent {
    match Codes::of(error) {
        Some(codes) => codes.reason(step).unavailable(),
        None => no_reply(error),
    }
}

/// Whether the reply says that it will be no other one next time.
pub(super) fn is_permanent(error: &Error) -> bool {
    Codes::of(error).is_some_and(Codes::is_permanent)
}

/// To MAIL.
pub(super) fn to_sender(error: &Error) -> NotSent {
    before_mail(error, "MAIL", |codes| match codes.code {
        // The server wants us to sign in, and we have not been told with what.
        530 => codes.reason("MAIL").unavailable(),
        _ => codes.reason("MAIL").refused(),
    })
}

/// To RCPT.
pub(super) fn to_addressee(error: &Error) -> NotSent {
    before_mail(error, "RCPT", |codes| match codes.condemn_address() {
        true => codes.reason("RCPT").address_dead(),
        false => codes.reason("RCPT").refused(),
    })
}

/// To DATA.
pub(super) fn to_data(error: &Error) -> NotSent {
    before_mail(error, "DATA", |codes| codes.reason("DATA").refused())
}

/// To the mail itself.
pub(super) fn to_mail(error: &Error) -> NotSent {
    match Codes::of(error) {
        Some(codes) if codes.is_permanent() => codes.reason("the mail").refused(),
        Some(codes) => codes.later("the mail"),
        None => Reason::word("the connection broke before the answer").unknown(),
    }
}

fn before_mail(error: &Error, step: &'static str, permanent: impl FnOnce(Codes) -> NotSent) -> NotSent {
    match Codes::of(error) {
        Some(codes) if codes.is_permanent() => permanent(codes),
        Some(codes) => codes.later(step),
        None => no_reply(error),
    }
}

/// No reply, or none that makes sense, before the mail was sent.
fn no_reply(error: &Error) -> NotSent {
    let word = match error {
        error if error.is_tls() => "no TLS with the server",
        error if error.is_client() => "the server lacks what we need",
        error if error.is_response() => "the server does not speak SMTP",
        error if error.is_timeout() => "no answer in time",
        _ => "no connection",
    };
    Reason::word(word).unavailable()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Codes {
    code: u16,
    enhanced: Option<EnhancedCode>,
}

impl Codes {
    fn of(error: &Error) -> Option<Self> {
        let code = error.status()?.into();
        let text = error.source().map(ToString::to_string).unwrap_or_default();
        Some(Self { code, enhanced: enhanced(&text) })
    }

    fn is_permanent(self) -> bool {
        self.code >= 500
    }

    /// 421 is the server's own going away; other 4xx are about this mail, such as a full mailbox or greylisting.
    fn later(self, step: &'static str) -> NotSent {
        match self.code {
            421 => self.reason(step).unavailable(),
            _ => self.reason(step).failed(),
        }
    }

    /// 550, 551 and 553 are said of mailboxes that are not there, but also of senders that are not liked and relays that
    /// are closed. Where the finer code tells, only what is about the mailbox counts: x.1.z except the sender's own two,
    /// and the mailbox that is disabled.
    fn condemn_address(self) -> bool {
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

    fn codes(code: u16, text: &str) -> Codes {
        Codes { code, enhanced: enhanced(text) }
    }

    #[test]
    fn an_address_is_dead_only_if_the_reply_is_about_the_mailbox() {
        for (code, text) in [
            (550, "No such user here"),
            (550, "5.1.1 <ada@example.com>: Recipient address rejected"),
            (550, "5.2.1 The account is disabled"),
            (551, "5.1.6 moved"),
            (553, "5.1.3 bad syntax"),
        ] {
            assert!(codes(code, text).condemn_address(), "{code} {text}");
        }
        for (code, text) in [
            (550, "5.7.1 Relaying denied"),
            (550, "5.1.8 Sender's domain does not exist"),
            (553, "5.1.7 Bad sender"),
            (550, "5.4.1 Access denied"),
            (552, "5.2.2 Mailbox full"),
            (554, "5.1.1 Refused"),
        ] {
            assert!(!codes(code, text).condemn_address(), "{code} {text}");
        }
    }

    #[test]
    fn the_finer_code_is_three_numbers_at_the_start_or_nothing() {
        let code = |class, subject, detail| Some(EnhancedCode { class, subject, detail });
        assert_eq!(enhanced("5.1.1 no such user"), code(5, 1, 1));
        assert_eq!(enhanced("4.7.650 slow down"), code(4, 7, 650));
        for text in ["", "no such user", "5.1 x", "127.0.0.1 refused", "+5.1.1", "a.b.c"] {
            assert_eq!(enhanced(text), None, "{text}");
        }
    }
}
