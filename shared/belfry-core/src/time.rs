//! Timestamps as they are stored: RFC 3339 in UTC with exactly three decimals.
//!
//! The fixed width makes the text sort in time order, which sort keys rely on.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A UTC timestamp with millisecond precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(extend("format" = "date-time")))]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(jiff::Timestamp);

/// The text is not an RFC 3339 timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a time in RFC 3339, such as 2026-01-31T12:00:00.000Z")]
pub struct NotATimestamp;

impl Timestamp {
    /// The current time. Decisions do not call this: they take the time from their [`Context`](crate::Context).
    pub fn now() -> Self {
        Self::from_millis(jiff::Timestamp::now().as_millisecond()).unwrap_or(Self(jiff::Timestamp::UNIX_EPOCH))
    }

    /// The timestamp this many milliseconds after the epoch, if it can be represented.
    pub fn from_millis(millis: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millis).ok().map(Self)
    }

    /// Parses RFC 3339 with any offset. Digits beyond milliseconds are dropped.
    pub fn parse(text: &str) -> Result<Self, NotATimestamp> {
        let instant: jiff::Timestamp = text.parse().map_err(|_| NotATimestamp)?;
        Self::from_millis(instant.as_millisecond()).ok_or(NotATimestamp)
    }

    /// Milliseconds since the epoch.
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Whole seconds since the epoch, the format of DynamoDB's TTL.
    pub fn as_seconds(self) -> i64 {
        self.0.as_second()
    }

    /// The time elapsed since `earlier`, or zero if `earlier` is in the future.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::try_from(self.0.duration_since(earlier.0)).unwrap_or(Duration::ZERO)
    }

    /// Adds a duration, saturating at the latest timestamp.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.checked_add(span).unwrap_or(jiff::Timestamp::MAX))
    }

    /// Subtracts a duration, saturating at the earliest timestamp.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.checked_sub(span).unwrap_or(jiff::Timestamp::MIN))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = NotATimestamp;

    fn try_from(text: String) -> Result<Self, NotATimestamp> {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_a_fixed_width_and_sorts_as_time_does() {
        let whole = Timestamp::parse("2026-01-31T12:00:00Z").expect("a time");
        let later = whole.plus(Duration::from_millis(5));
        assert_eq!(whole.to_string(), "2026-01-31T12:00:00.000Z");
        assert_eq!(later.to_string(), "2026-01-31T12:00:00.005Z");
        assert!(whole.to_string() < later.to_string());
    }

    #[test]
    fn an_offset_is_read_and_written_in_utc() {
        let time = Timestamp::parse("2026-01-31T13:00:00.123456+01:00").expect("a time");
        assert_eq!(time.to_string(), "2026-01-31T12:00:00.123Z");
    }

    #[test]
    fn text_that_is_not_a_timestamp_is_refused() {
        for text in ["", "yesterday", "2026-01-31", "2026-13-01T00:00:00Z"] {
            assert_eq!(Timestamp::parse(text), Err(NotATimestamp), "{text}");
        }
    }
}
