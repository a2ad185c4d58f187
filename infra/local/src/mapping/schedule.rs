//! When a scheduled function runs: `rate(…)` as EventBridge writes it. `cron(…)` is not offered: no schedule needs it.

use jiff::{SignedDuration, Timestamp};

/// A parsed schedule expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    every: SignedDuration,
}

/// What is wrong with a schedule expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Not the one form that there is.
    #[error("must be rate(…) (got {0:?})")]
    Form(String),
    /// `rate` takes a number and a unit.
    #[error("rate must have a whole number above 0 and a unit, as in rate(5 minutes) (got {0:?})")]
    Rate(String),
    /// The unit is unknown, or its number does not agree with the value.
    #[error("rate must have the unit {expected} (got {found:?})")]
    Unit {
        /// The units that go with the value.
        expected: &'static str,
        /// The unit as written.
        found: String,
    },
}

impl Schedule {
    /// Reads `rate(5 minutes)`.
    ///
    /// # Errors
    /// When EventBridge would refuse the expression, or when it is not a rate.
    pub fn parse(expression: &str) -> Result<Self, ScheduleError> {
        let rate = expression.strip_prefix("rate(").and_then(|rate| rate.strip_suffix(')'));
        let rate = rate.ok_or_else(|| ScheduleError::Form(expression.to_owned()))?;
        let malformed = || ScheduleError::Rate(rate.to_owned());
        let (value, unit) = rate.split_once(' ').ok_or_else(malformed)?;
        // Digits only: `parse` alone would take a sign too. 32 bits keep the product below the limit of a duration.
        let value: Option<u32> = value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok()).flatten();
        let value = value.filter(|value| *value > 0).ok_or_else(malformed)?;
        let (expected, units) = match value {
            1 => ("minute, hour or day", ["minute", "hour", "day"]),
            _ => ("minutes, hours or days", ["minutes", "hours", "days"]),
        };
        let seconds = [60, 60 * 60, 24 * 60 * 60];
        match units.iter().zip(seconds).find(|(known, _)| **known == unit) {
            Some((_, seconds)) => Ok(Self { every: SignedDuration::from_secs(i64::from(value) * seconds) }),
            None => Err(ScheduleError::Unit { expected, found: unit.to_owned() }),
        }
    }

    /// The next run; `None` at the end of time. A rate counts from the time given, as AWS counts from the moment the rule
    /// was made.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        after.checked_add(self.every).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables are texts, one row a line, so that a row reads as it would in AWS's documentation.
    fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
        let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(|line| line.split('|').map(str::trim).collect())
    }

    #[test]
    fn a_rate_runs_again_after_its_time() {
        let table = "
            rate(1 minute)  | 2026-03-01T10:00:30Z | 2026-03-01T10:01:30Z
            rate(5 minutes) | 2026-03-01T10:00:00Z | 2026-03-01T10:05:00Z
            rate(2 hours)   | 2026-03-01T23:00:00Z | 2026-03-02T01:00:00Z
            rate(1 day)     | 2026-02-28T10:00:00Z | 2026-03-01T10:00:00Z";
        for row in rows(table) {
            let [expression, after, expected] = row[..] else { panic!("{row:?}") };
            let next = Schedule::parse(expression).expect("a schedule").next_after(after.parse().expect("a time"));
            assert_eq!(next.map(|next| next.to_string()).as_deref(), Some(expected), "{expression} after {after}");
        }
    }

    #[test]
    fn a_mistake_is_named() {
        let rate = "rate must have a whole number above 0 and a unit, as in rate(5 minutes) (got";
        let table = format!(
            r#"
            every minute         | must be rate(…) (got "every minute")
            at(2030-01-01T00:00) | must be rate(…) (got "at(2030-01-01T00:00)")
            cron(0 * * * ? *)    | must be rate(…) (got "cron(0 * * * ? *)")
            rate(0 minutes)      | {rate} "0 minutes")
            rate(minute)         | {rate} "minute")
            rate(+5 minutes)     | {rate} "+5 minutes")
            rate(1 minutes)      | rate must have the unit minute, hour or day (got "minutes")
            rate(5 minute)       | rate must have the unit minutes, hours or days (got "minute")
            rate(5 weeks)        | rate must have the unit minutes, hours or days (got "weeks")"#
        );
        for row in rows(&table) {
            let [expression, message] = row[..] else { panic!("{row:?}") };
            assert_eq!(Schedule::parse(expression).expect_err(expression).to_string(), message);
        }
    }
}
