//! Moments, as the whole system writes them: RFC 3339 in UTC with exactly three decimals.
//!
//! The fixed width makes the text sort as the moments do, which the ledger's sort keys rely on.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment in UTC, to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("format" = "date-time")))]
#[serde(into = "String", try_from = "String")]
pub struct Time(jiff::Timestamp);

/// The text is not an RFC 3339 moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a time in RFC 3339, such as 2026-01-31T12:00:00.000Z")]
pub struct NotATime;

impl Time {
    /// The moment now. Only handlers call this; decisions are handed their time.
    pub fn now() -> Self {
        Self::from_millis(jiff::Timestamp::now().as_millisecond()).unwrap_or(Self(jiff::Timestamp::UNIX_EPOCH))
    }

    /// The moment this many milliseconds after the epoch, if a calendar has it.
    pub fn from_millis(millis: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millis).ok().map(Self)
    }

    /// Reads RFC 3339 with any offset; what is finer than a millisecond is cut off.
    pub fn parse(text: &str) -> Result<Self, NotATime> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| NotATime)?;
        Self::from_millis(moment.as_millisecond()).ok_or(NotATime)
    }

    /// Milliseconds since the epoch.
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Whole seconds since the epoch, as DynamoDB's TTL wants them.
    pub fn as_seconds(self) -> i64 {
        self.0.as_second()
    }

    /// How long ago `earlier` was; nothing, where it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::try_from(self.0.duration_since(earlier.0)).unwrap_or(Duration::ZERO)
    }

    /// The moment `span` later; the end of time where a calendar has no such moment.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.checked_add(span).unwrap_or(jiff::Timestamp::MAX))
    }

    /// The moment `span` earlier; the beginning of time where a calendar has no such moment.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.checked_sub(span).unwrap_or(jiff::Timestamp::MIN))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl From<Time> for String {
    fn from(time: Time) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for Time {
    type Error = NotATime;

    fn try_from(text: String) -> Result<Self, NotATime> {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_a_fixed_width_and_sorts_as_time_does() {
        let whole = Time::parse("2026-01-31T12:00:00Z").expect("a time");
        let later = whole.plus(Duration::from_millis(5));
        assert_eq!(whole.to_string(), "2026-01-31T12:00:00.000Z");
        assert_eq!(later.to_string(), "2026-01-31T12:00:00.005Z");
        assert!(whole.to_string() < later.to_string());
    }

    #[test]
    fn an_offset_is_read_and_written_in_utc() {
        let time = Time::parse("2026-01-31T13:00:00.123456+01:00").expect("a time");
        assert_eq!(time.to_string(), "2026-01-31T12:00:00.123Z");
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in ["", "yesterday", "2026-01-31", "2026-13-01T00:00:00Z"] {
            assert_eq!(Time::parse(text), Err(NotATime), "{text}");
        }
    }
}
