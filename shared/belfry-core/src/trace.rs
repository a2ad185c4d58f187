//! W3C trace context: the `traceparent` header that links an HTTP request to everything it causes.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A position in a trace: `00-TRACE_ID-SPAN_ID-FLAGS`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Trace {
    trace_id: String,
    span_id: String,
    flags: String,
}

/// The text is not a `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a W3C traceparent")]
pub struct NotATrace;

impl Trace {
    /// Parses a `traceparent`. The standard forbids all-zero ids and version ff. Of versions newer than 00, the first four
    /// fields are read.
    pub fn parse(text: &str) -> Result<Self, NotATrace> {
        let parts: Vec<&str> = text.split('-').collect();
        let is_hex = |part: &str, length| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let [version, trace_id, span_id, flags, rest @ ..] = parts.as_slice() else { return Err(NotATrace) };
        let known = is_hex(version, 2) && *version != "ff" && (rest.is_empty() || *version != "00");
        let ids = [(*trace_id, 32), (*span_id, 16)];
        let valid = ids.iter().all(|(id, length)| is_hex(id, *length) && id.bytes().any(|byte| byte != b'0'));
        if !(known && valid && is_hex(flags, 2)) {
            return Err(NotATrace);
        }
        Ok(Self { trace_id: (*trace_id).to_owned(), span_id: (*span_id).to_owned(), flags: (*flags).to_owned() })
    }

    /// Starts a new, sampled trace.
    pub fn begin() -> Self {
        Self { trace_id: Uuid::new_v4().simple().to_string(), span_id: span_id(), flags: "01".to_owned() }
    }

    /// Starts a new span of the same trace.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { span_id: span_id(), ..self.clone() }
    }

    /// The trace id.
    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }
}

// The second half of a UUIDv4 starts with two fixed bits, so it is never all zeros.
fn span_id() -> String {
    Uuid::new_v4().simple().to_string().split_off(16)
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{}", self.trace_id, self.span_id, self.flags)
    }
}

impl From<Trace> for String {
    fn from(trace: Trace) -> Self {
        trace.to_string()
    }
}

impl TryFrom<String> for Trace {
    type Error = NotATrace;

    fn try_from(text: String) -> Result<Self, NotATrace> {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_parsed_trace_prints_as_it_was() {
        assert_eq!(Trace::parse(SAMPLE).expect("a trace").to_string(), SAMPLE);
        let begun = Trace::begin();
        assert_eq!(Trace::parse(&begun.to_string()), Ok(begun));
    }

    #[test]
    fn a_child_is_another_span_of_the_same_trace() {
        let trace = Trace::parse(SAMPLE).expect("a trace");
        let child = trace.child();
        assert_eq!(child.trace_id(), trace.trace_id());
        assert_ne!(child, trace);
    }

    #[test]
    fn a_newer_version_is_read_as_far_as_it_is_known() {
        let newer = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more";
        assert_eq!(Trace::parse(newer).expect("a trace").to_string(), SAMPLE);
    }

    #[test]
    fn invalid_traceparents_are_refused() {
        for text in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ] {
            assert_eq!(Trace::parse(text), Err(NotATrace), "{text}");
        }
    }
}
