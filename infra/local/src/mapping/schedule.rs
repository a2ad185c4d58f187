//! When a scheduled function runs: `rate(…)` and `cron(…)` as EventBridge writes them, in UTC.
//!
//! The grammar is AWS's own, stricter than crontab's: six fields (minute, hour, day of month, month,
//! day of week, year), Sunday is 1, and one of the two day fields has to be `?`. What AWS would refuse
//! at deployment is refused here at start. `L`, `W` and `#` are not offered; the error says so.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A parsed schedule expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Rate(SignedDuration),
    Cron(Cron),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cron {
    minutes: BTreeSet<i16>,
    hours: BTreeSet<i16>,
    months: BTreeSet<i16>,
    days: Days,
    years: BTreeSet<i16>,
}

/// AWS reads one of the two day fields and wants `?` in the other.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Days {
    OfMonth(BTreeSet<i16>),
    OfWeek(BTreeSet<i16>),
}

/// What is wrong with a schedule expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Neither of the two forms.
    #[error("expected rate(…) or cron(…), found {0:?}")]
    Form(String),
    /// `rate` takes a number and a unit.
    #[error("rate: expected a whole number above 0 and a unit, as in rate(5 minutes), found {0:?}")]
    Rate(String),
    /// The unit is unknown, or its number does not agree with the value.
    #[error("rate: expected the unit {expected}, found {found:?}")]
    Unit {
        /// The units that go with the value.
        expected: &'static str,
        /// The unit as written.
        found: String,
    },
    /// `cron` takes six fields.
    #[error("cron: expected 6 fields (minute hour day-of-month month day-of-week year), found {0}")]
    FieldCount(usize),
    /// Both day fields are given, or none.
    #[error("cron: exactly one of day-of-month and day-of-week must be ?")]
    QuestionMark,
    /// A wildcard of AWS's that is not offered here.
    #[error("cron: {field}: L, W and # are not supported, found {found:?}")]
    Unsupported {
        /// Which field.
        field: &'static str,
        /// The part as written.
        found: String,
    },
    /// A field does not hold what it may hold.
    #[error("cron: {field}: expected values from {} to {}, found {found:?}", range.start(), range.end())]
    Field {
        /// Which field.
        field: &'static str,
        /// The part as written.
        found: String,
        /// What the field may hold.
        range: RangeInclusive<i16>,
    },
}

impl Schedule {
    /// Reads `rate(5 minutes)` or `cron(0 * * * ? *)`.
    ///
    /// # Errors
    /// When AWS would refuse the expression, or when it uses `L`, `W` or `#`.
    pub fn parse(expression: &str) -> Result<Self, ScheduleError> {
        let inside = |form: &str| expression.strip_prefix(form)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(rate) = inside("rate") {
            parse_rate(rate).map(|every| Self(Kind::Rate(every)))
        } else if let Some(cron) = inside("cron") {
            Cron::parse(cron).map(|cron| Self(Kind::Cron(cron)))
        } else {
            Err(ScheduleError::Form(expression.to_owned()))
        }
    }

    /// The first time that lies after the given one; `None` when the schedule has run out.
    ///
    /// A rate counts from the time given, as AWS counts from the moment the rule was made.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.0 {
            Kind::Rate(every) => after.checked_add(*every).ok(),
            Kind::Cron(cron) => cron.next_after(after),
        }
    }
}

fn parse_rate(rate: &str) -> Result<SignedDuration, ScheduleError> {
    let malformed = || ScheduleError::Rate(rate.to_owned());
    let (value, unit) = rate.split_once(' ').ok_or_else(malformed)?;
    // Thirty-two bits keep the product below the limit of a duration.
    let value: u32 = whole(value).filter(|value| *value > 0).ok_or_else(malformed)?;
    let (expected, units) = match value {
        1 => ("minute, hour or day", ["minute", "hour", "day"]),
        _ => ("minutes, hours or days", ["minutes", "hours", "days"]),
    };
    let seconds = [60, 60 * 60, 24 * 60 * 60];
    match units.iter().zip(seconds).find(|(known, _)| **known == unit) {
        Some((_, seconds)) => Ok(SignedDuration::from_secs(i64::from(value) * seconds)),
        None => Err(ScheduleError::Unit { expected, found: unit.to_owned() }),
    }
}

/// Digits only: `parse` alone would take a sign too.
fn whole<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// One field of the cron grammar: its name, its limits, and the names that stand for its first values.
struct Field {
    name: &'static str,
    range: RangeInclusive<i16>,
    names: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", range: 0..=59, names: &[] };
const HOUR: Field = Field { name: "hour", range: 0..=23, names: &[] };
const DAY_OF_MONTH: Field = Field { name: "day-of-month", range: 1..=31, names: &[] };
const MONTH: Field = Field {
    name: "month",
    range: 1..=12,
    names: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const DAY_OF_WEEK: Field =
    Field { name: "day-of-week", range: 1..=7, names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"] };
const YEAR: Field = Field { name: "year", range: 1970..=2199, names: &[] };

impl Field {
    fn parse(&self, text: &str) -> Result<BTreeSet<i16>, ScheduleError> {
        let mut values = BTreeSet::new();
        for part in text.split(',') {
            values.extend(self.parse_part(part).ok_or_else(|| self.refusal(part))?);
        }
        Ok(values)
    }

    /// `*`, `7`, `7-9`, each with an optional `/step`; a step after a single value runs to the end.
    fn parse_part(&self, part: &str) -> Option<impl Iterator<Item = i16> + use<>> {
        let (span, step) = match part.split_once('/') {
            Some((span, step)) => (span, Some(whole(step).filter(|step| *step > 0_usize)?)),
            None => (part, None),
        };
        let (first, last) = match span.split_once('-') {
            _ if span == "*" => (*self.range.start(), *self.range.end()),
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None => {
                let value = self.value(span)?;
                (value, step.map_or(value, |_| *self.range.end()))
            }
        };
        (first <= last).then(|| (first..=last).step_by(step.unwrap_or(1)))
    }

    fn value(&self, text: &str) -> Option<i16> {
        let named = self.names.iter().zip(self.range.clone()).find(|(name, _)| name.eq_ignore_ascii_case(text));
        let value = named.map(|(_, value)| value).or_else(|| whole(text));
        value.filter(|value| self.range.contains(value))
    }

    fn refusal(&self, part: &str) -> ScheduleError {
        let (field, found) = (self.name, part.to_owned());
        let special =
            part.contains('#') || part.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['L', 'W']);
        if special && (field == DAY_OF_MONTH.name || field == DAY_OF_WEEK.name) {
            ScheduleError::Unsupported { field, found }
        } else {
            ScheduleError::Field { field, found, range: self.range.clone() }
        }
    }
}

impl Cron {
    fn parse(fields: &str) -> Result<Self, ScheduleError> {
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [minute, hour, day_of_month, month, day_of_week, year] = fields[..] else {
            return Err(ScheduleError::FieldCount(fields.len()));
        };
        let days = match (day_of_month, day_of_week) {
            ("?", "?") => return Err(ScheduleError::QuestionMark),
            (day, "?") => Days::OfMonth(DAY_OF_MONTH.parse(day)?),
            ("?", day) => Days::OfWeek(DAY_OF_WEEK.parse(day)?),
            _ => return Err(ScheduleError::QuestionMark),
        };
        Ok(Self {
            minutes: MINUTE.parse(minute)?,
            hours: HOUR.parse(hour)?,
            months: MONTH.parse(month)?,
            days,
            years: YEAR.parse(year)?,
        })
    }

    /// Walks day by day: even to the last year that AWS knows that is under 84,000 cheap steps.
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = TimeZone::UTC.to_datetime(after);
        let last_year = *self.years.last()?;
        let mut date = after.date();
        let mut earliest = Some(after.time());
        while date.year() <= last_year {
            let time = if self.runs_on(date) { self.first_time(earliest) } else { None };
            if let Some(time) = time {
                return TimeZone::UTC.to_timestamp(date.to_datetime(time)).ok();
            }
            date = date.checked_add(1.day()).ok()?;
            earliest = None;
        }
        None
    }

    fn runs_on(&self, date: Date) -> bool {
        let day = match &self.days {
            Days::OfMonth(days) => days.contains(&i16::from(date.day())),
            Days::OfWeek(days) => days.contains(&i16::from(date.weekday().to_sunday_one_offset())),
        };
        day && self.months.contains(&i16::from(date.month())) && self.years.contains(&date.year())
    }

    /// The first time of a day, or the first that lies after the given time of that day.
    fn first_time(&self, after: Option<Time>) -> Option<Time> {
        let times = self.hours.iter().flat_map(|hour| self.minutes.iter().map(move |minute| (*hour, *minute)));
        let mut times = times
            .filter_map(|(hour, minute)| Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0).ok());
        times.find(|time| after.is_none_or(|after| *time > after))
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
    fn the_next_run_is_the_first_that_lies_after() {
        let table = "
            rate(1 minute)            | 2026-03-01T10:00:30Z     | 2026-03-01T10:01:30Z
            rate(5 minutes)           | 2026-03-01T10:00:00Z     | 2026-03-01T10:05:00Z
            rate(2 hours)             | 2026-03-01T23:00:00Z     | 2026-03-02T01:00:00Z
            rate(1 day)               | 2026-02-28T10:00:00Z     | 2026-03-01T10:00:00Z
            cron(0 * * * ? *)         | 2026-03-01T10:00:00Z     | 2026-03-01T11:00:00Z
            cron(0 * * * ? *)         | 2026-03-01T10:59:59.999Z | 2026-03-01T11:00:00Z
            cron(* * * * ? *)         | 2026-12-31T23:59:10Z     | 2027-01-01T00:00:00Z
            cron(0/15 * * * ? *)      | 2026-03-01T10:16:00Z     | 2026-03-01T10:30:00Z
            cron(*/20 * * * ? *)      | 2026-03-01T10:41:00Z     | 2026-03-01T11:00:00Z
            cron(5-10/2,50 8 * * ? *) | 2026-03-01T08:09:00Z     | 2026-03-01T08:50:00Z
            cron(15 10 ? * MON-FRI *) | 2026-03-06T10:15:00Z     | 2026-03-09T10:15:00Z
            cron(0 18 ? * 1 *)        | 2026-03-02T00:00:00Z     | 2026-03-08T18:00:00Z
            cron(0 8 1 * ? *)         | 2026-03-01T08:00:00Z     | 2026-04-01T08:00:00Z
            cron(0 8 1 jan,jul ? *)   | 2026-03-01T08:00:00Z     | 2026-07-01T08:00:00Z
            cron(0 0 29 2 ? *)        | 2026-03-01T00:00:00Z     | 2028-02-29T00:00:00Z
            cron(0 0 31 * ? *)        | 2026-03-31T00:00:00Z     | 2026-05-31T00:00:00Z
            cron(0 0 1 1 ? 2030/5)    | 2030-01-01T00:00:00Z     | 2035-01-01T00:00:00Z
            cron(0 0 1 1 ? 2025)      | 2026-03-01T00:00:00Z     | never
            cron(0 0 30 2 ? *)        | 2026-03-01T00:00:00Z     | never";
        for row in rows(table) {
            let [expression, after, expected] = row[..] else { panic!("{row:?}") };
            let next = Schedule::parse(expression).expect("a schedule").next_after(after.parse().expect("a time"));
            let next = next.map_or_else(|| "never".to_owned(), |next| next.to_string());
            assert_eq!(next, expected, "{expression} after {after}");
        }
    }

    #[test]
    fn a_mistake_is_named() {
        let rate = "rate: expected a whole number above 0 and a unit, as in rate(5 minutes), found";
        let count = "cron: expected 6 fields (minute hour day-of-month month day-of-week year), found";
        let days = "cron: exactly one of day-of-month and day-of-week must be ?";
        let table = format!(
            r#"
            every minute         | expected rate(…) or cron(…), found "every minute"
            at(2030-01-01T00:00) | expected rate(…) or cron(…), found "at(2030-01-01T00:00)"
            rate(0 minutes)      | {rate} "0 minutes"
            rate(minute)         | {rate} "minute"
            rate(+5 minutes)     | {rate} "+5 minutes"
            rate(1 minutes)      | rate: expected the unit minute, hour or day, found "minutes"
            rate(5 minute)       | rate: expected the unit minutes, hours or days, found "minute"
            rate(5 weeks)        | rate: expected the unit minutes, hours or days, found "weeks"
            cron(0 * * * ?)      | {count} 5
            cron(0 0 * * * *)    | {days}
            cron(0 0 ? * ? *)    | {days}
            cron(60 * * * ? *)   | cron: minute: expected values from 0 to 59, found "60"
            cron(0 24 * * ? *)   | cron: hour: expected values from 0 to 23, found "24"
            cron(0 ? * * ? *)    | cron: hour: expected values from 0 to 23, found "?"
            cron(0 0 ? * 0 *)    | cron: day-of-week: expected values from 1 to 7, found "0"
            cron(0 0 ? FEBR 1 *) | cron: month: expected values from 1 to 12, found "FEBR"
            cron(0 0 * * ? 2200) | cron: year: expected values from 1970 to 2199, found "2200"
            cron(0/0 * * * ? *)  | cron: minute: expected values from 0 to 59, found "0/0"
            cron(5-1 * * * ? *)  | cron: minute: expected values from 0 to 59, found "5-1"
            cron(1,,2 * * * ? *) | cron: minute: expected values from 0 to 59, found ""
            cron(+1 * * * ? *)   | cron: minute: expected values from 0 to 59, found "+1"
            cron(0 0 L * ? *)    | cron: day-of-month: L, W and # are not supported, found "L"
            cron(0 0 3W * ? *)   | cron: day-of-month: L, W and # are not supported, found "3W"
            cron(0 0 ? * 3#2 *)  | cron: day-of-week: L, W and # are not supported, found "3#2""#
        );
        for row in rows(&table) {
            let [expression, message] = row[..] else { panic!("{row:?}") };
            assert_eq!(Schedule::parse(expression).expect_err(expression).to_string(), message);
        }
    }

    #[test]
    fn a_day_of_quarter_hours_has_96_runs() {
        let schedule = Schedule::parse("cron(0/15 * * * ? *)").expect("a schedule");
        let start: Timestamp = "2026-02-28T00:00:00Z".parse().expect("a time");
        let next = |now: &Timestamp| schedule.next_after(*now);
        let last = std::iter::successors(Some(start), next).nth(96).expect("a run");
        assert_eq!(last, start + SignedDuration::from_hours(24));
    }
}
