//! Classification of HTTP errors and statuses, for FCM and Slack.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::{Reason, SendError};

/// Classifies a request without an answer. Only if connecting failed is it certain that nothing was sent.
pub(crate) fn no_answer(error: &reqwest::Error) -> SendError {
    if error.is_connect() {
        Reason::text("cannot connect").unavailable()
    } else if error.is_builder() {
        Reason::text("cannot build the request").refused()
    } else if error.is_timeout() {
        Reason::text("no answer within the time limit").unknown()
    } else {
        Reason::text("connection closed before the answer").unknown()
    }
}

/// Classifies a status, where the provider's own code says nothing more specific.
pub(crate) fn by_status(status: u16, code: Option<&'static str>, retry_after: Option<Duration>) -> SendError {
    let reason = Reason::http(status, code);
    match status {
        // Probably accepted, but the answer cannot be parsed.
        200..=299 => reason.unknown(),
        429 | 503 => SendError::Unavailable { reason, retry_after },
        // A gateway's answer: the provider behind it may have sent the message.
        502 | 504 => reason.unknown(),
        408 | 500..=599 => reason.failed(),
        _ => reason.refused(),
    }
}

/// Returns `Retry-After` in seconds. The date format is ignored.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn status_tells_whether_the_message_may_have_been_sent() {
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
    fn retry_after_is_parsed_in_seconds() {
        let headers = |value: &'static str| HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
        assert_eq!(retry_after(&headers("30")), Some(Duration::from_secs(30)));
        assert_eq!(retry_after(&headers("Wed, 21 Oct 2015 07:28:00 GMT")), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
