//! HTTP as FCM and Slack are spoken to: what errors and statuses mean there.

use std::time::Duration;

pub(crate) use outside::http::{body, client};
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::{NotSent, Reason};

/// A request that got no answer. Only without a connection is it certain that nothing was handed over.
pub(crate) fn unanswered(error: &reqwest::Error) -> NotSent {
    if error.is_connect() {
        Reason::word("no connection").unavailable()
    } else if error.is_builder() {
        Reason::word("a request that cannot be made").refused()
    } else if error.is_timeout() {
        Reason::word("no answer in time").unknown()
    } else {
        Reason::word("the connection broke before the answer").unknown()
    }
}

/// What a status means where the provider's own code does not say more.
pub(crate) fn by_status(status: u16, word: Option<&'static str>, retry_after: Option<Duration>) -> NotSent {
    let reason = Reason::http(status, word);
    match status {
        // Accepted, it seems, but not in words that its client understands.
        200..=299 => reason.unknown(),
        429 | 503 => NotSent::Unavailable { reason, retry_after },
        // A gateway's answer, whose provider may have worked on the message.
        502 | 504 => reason.unknown(),
        408 | 500..=599 => reason.failed(),
        _ => reason.refused(),
    }
}

/// `Retry-After` in seconds. As a date it is left to the caller's own patience.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_status_says_whether_the_message_may_have_gone_out() {
        for (status, sorted) in [
            (200, Reason::http(200, None).unknown()),
            (429, Reason::http(429, None).unavailable()),
            (503, Reason::http(503, None).unavailable()),
            (500, Reason::http(500, None).failed()),
            (502, Reason::http(502, None).unknown()),
            (504, Reason::http(504, None).unknown()),
            (302, Reason::http(302, None).refused()),
            (400, Reason::http(400, None).refused()),
        ] {
            assert_eq!(by_status(status, None, None), sorted);
        }
    }

    #[test]
    fn retry_after_is_read_in_seconds() {
        let headers = |value: &'static str| HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
        assert_eq!(retry_after(&headers("30")), Some(Duration::from_secs(30)));
        assert_eq!(retry_after(&headers("Wed, 21 Oct 2015 07:28:00 GMT")), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
