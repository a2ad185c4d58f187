//! Settings: environment variables `BELFRY_…`, parsed once at cold start. An empty one counts as not set: `sam local`
//! passes `""` for `AWS::NoValue`.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::backoff::Backoff;
use domain::webhook::WebhookHosts;

use crate::sam_local::AWS_SAM_LOCAL;

const DAY: Duration = Duration::from_secs(86_400);

/// Where a function's settings come from: its environment, or, on a laptop, the template's entry for it.
#[derive(Debug, Clone)]
pub struct Settings {
    values: BTreeMap<String, String>,
}

/// A setting is missing or wrong.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSetting {
    /// It has no default and is not set.
    #[error("{name} is not set")]
    Missing {
        /// The variable.
        name: String,
    },
    /// It is set to something that it cannot be.
    #[error("{name} must be {expected}, but is \"{value}\"")]
    Wrong {
        /// The variable.
        name: String,
        /// What it must be.
        expected: String,
        /// What it is.
        value: String,
    },
    /// It would send a function that runs in a container of `sam local` elsewhere than to the local stack.
    #[error(
        "AWS_SAM_LOCAL is set but {name} is {state}: start the local stack with \"cargo run -- --containers\" and pass \
         --env-vars target/environment.json"
    )]
    NotLocal {
        /// The variable.
        name: String,
        /// How it is set, or that it is not.
        state: String,
    },
}

/// The message: what `main` returns is printed in this way.
impl std::fmt::Debug for BadSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Settings {
    /// The process's own environment.
    pub fn from_env() -> Self {
        std::env::vars().filter(|(name, _)| name.starts_with("BELFRY_") || name == AWS_SAM_LOCAL).collect()
    }

    /// What a variable is set to. Empty text means that it is not set.
    fn set(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    /// A text that must be set.
    pub fn text(&self, name: &str) -> Result<String, BadSetting> {
        self.set(name).map(str::to_owned).ok_or_else(|| BadSetting::Missing { name: name.to_owned() })
    }

    /// A text that may be left out.
    pub fn text_or(&self, name: &str, default: &str) -> String {
        self.set(name).unwrap_or(default).to_owned()
    }

    /// A text that may be left out.
    pub fn optional(&self, name: &str) -> Option<String> {
        self.set(name).map(str::to_owned)
    }

    /// One of these words.
    pub fn one_of(
        &self,
        name: &str,
        default: &'static str,
        words: &[&'static str],
    ) -> Result<&'static str, BadSetting> {
        let Some(value) = self.set(name) else { return Ok(default) };
        let word = words.iter().find(|word| **word == value).copied();
        word.ok_or_else(|| wrong(name, &format!("one of {}", words.join(", ")), value))
    }

    /// A span of time such as `500ms`, `30s`, `15m`, `24h` or `30d`, of at least `least`.
    pub fn duration(&self, name: &str, default: Duration, least: Duration) -> Result<Duration, BadSetting> {
        let Some(value) = self.set(name) else { return Ok(default) };
        match parse_duration(value) {
            None => Err(wrong(name, "a duration such as 30s or 24h", value)),
            Some(duration) if duration < least => Err(wrong(name, &format!("at least {}s", least.as_secs()), value)),
            Some(duration) => Ok(duration),
        }
    }

    /// A number within bounds.
    pub fn decimal(&self, name: &str, default: f64, bounds: std::ops::RangeInclusive<f64>) -> Result<f64, BadSetting> {
        let Some(value) = self.set(name) else { return Ok(default) };
        let number = value.parse().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| wrong(name, &format!("a number from {} to {}", bounds.start(), bounds.end()), value))
    }

    /// Yes or no.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, BadSetting> {
        Ok(self.one_of(name, if default { "true" } else { "false" }, &["true", "false"])? == "true")
    }

    /// A whole number within bounds.
    pub fn whole(&self, name: &str, default: u32, bounds: std::ops::RangeInclusive<u32>) -> Result<u32, BadSetting> {
        let Some(value) = self.set(name) else { return Ok(default) };
        let number = value.parse().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| wrong(name, &format!("a whole number from {} to {}", bounds.start(), bounds.end()), value))
    }
}

/// Settings that several functions share, with the defaults of the specification.
impl Settings {
    /// How long to wait between attempts.
    pub fn backoff(&self) -> Result<Backoff, BadSetting> {
        let default = Backoff::default();
        let low = self.decimal("BELFRY_BACKOFF_JITTER_MIN", default.jitter.0, 0.0..=10.0)?;
        Ok(Backoff {
            base: self.duration("BELFRY_BACKOFF_BASE", default.base, Duration::from_millis(1))?,
            cap: self.duration("BELFRY_BACKOFF_MAX", default.cap, Duration::from_millis(1))?,
            least: self.duration("BELFRY_BACKOFF_MIN", default.least, Duration::ZERO)?,
            jitter: (low, self.decimal("BELFRY_BACKOFF_JITTER_MAX", default.jitter.1.max(low), low..=10.0)?),
        })
    }

    /// How long processed marks are kept. A dead letter lives 14 days in its queue; a mark that is gone before could not
    /// stop it from being done twice.
    pub fn processed_retention(&self) -> Result<Duration, BadSetting> {
        self.duration("BELFRY_PROCESSED_RETENTION", DAY * 30, DAY * 14)
    }

    /// How long published events are kept; for ever where nothing is to expire.
    pub fn event_retention(&self) -> Result<Option<Duration>, BadSetting> {
        let kept = self.duration("BELFRY_EVENT_RETENTION", DAY * 400, DAY)?;
        Ok(self.flag("BELFRY_RETENTION_ENABLED", true)?.then_some(kept))
    }

    /// How long the stream has to publish an entry before a sweeper looks at it.
    pub fn stream_grace(&self) -> Result<Duration, BadSetting> {
        self.duration("BELFRY_OUTBOX_GRACE", Duration::from_secs(60), Duration::ZERO)
    }

    /// How long notifications, and sends that are at their end, are kept; for ever where nothing is to expire.
    pub fn notification_retention(&self) -> Result<Option<Duration>, BadSetting> {
        let kept = self.duration("BELFRY_NOTIFICATION_RETENTION", DAY * 30, DAY)?;
        Ok(self.flag("BELFRY_RETENTION_ENABLED", true)?.then_some(kept))
    }

    /// Where webhooks may point: at Slack, unless told otherwise.
    pub fn slack_hosts(&self) -> Result<WebhookHosts, BadSetting> {
        let name = "BELFRY_SLACK_HOSTS";
        let list = self.set(name).unwrap_or(WebhookHosts::SLACK);
        WebhookHosts::parse(list).map_err(|_| wrong(name, "host names with commas between them", list))
    }

    /// The last receive of a message, on which its consumer writes the dead letter itself.
    pub fn last_receive(&self) -> Result<u32, BadSetting> {
        self.whole("BELFRY_RECEIVE_COUNT", 5, 1..=1000)
    }

    /// How many attempts to publish an entry count before it is FAILED.
    pub fn outbox_attempts(&self) -> Result<u32, BadSetting> {
        self.whole("BELFRY_OUTBOX_MAX_ATTEMPTS", 10, 1..=1000)
    }
}

impl FromIterator<(String, String)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(values: I) -> Self {
        Self { values: values.into_iter().collect() }
    }
}

fn wrong(name: &str, expected: &str, value: &str) -> BadSetting {
    BadSetting::Wrong { name: name.to_owned(), expected: expected.to_owned(), value: value.to_owned() }
}

fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().ok()?;
    let seconds = match unit {
        "ms" => return Some(Duration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(name: &str, value: &str) -> Settings {
        [(name.to_owned(), value.to_owned())].into_iter().collect()
    }

    #[test]
    fn a_missing_setting_names_itself() {
        let problem = Settings::from_iter([]).text("BELFRY_EVENTS_TABLE").expect_err("missing");
        assert_eq!(problem.to_string(), "BELFRY_EVENTS_TABLE is not set");
    }

    #[test]
    fn an_empty_setting_is_not_set() {
        for empty in ["", " "] {
            let settings = settings("BELFRY_X", empty);
            assert_eq!(settings.text("BELFRY_X"), Err(BadSetting::Missing { name: "BELFRY_X".to_owned() }));
            assert_eq!(settings.optional("BELFRY_X"), None);
            assert_eq!(settings.text_or("BELFRY_X", "default"), "default");
            assert_eq!(settings.one_of("BELFRY_X", "a", &["a", "b"]), Ok("a"));
            assert_eq!(settings.flag("BELFRY_X", true), Ok(true));
            assert_eq!(settings.duration("BELFRY_X", DAY, DAY), Ok(DAY));
            assert_eq!(settings.whole("BELFRY_X", 5, 1..=10), Ok(5));
            assert_eq!(settings.decimal("BELFRY_X", 0.5, 0.0..=1.0), Ok(0.5));
        }
        let hosts = settings("BELFRY_SLACK_HOSTS", "").slack_hosts();
        assert_eq!(hosts, Settings::from_iter([]).slack_hosts());
    }

    #[test]
    fn a_wrong_setting_names_itself_and_what_it_must_be() {
        let problem = settings("BELFRY_KEY_TTL", "a day")
            .duration("BELFRY_KEY_TTL", Duration::ZERO, Duration::ZERO)
            .expect_err("wrong");
        assert_eq!(problem.to_string(), "BELFRY_KEY_TTL must be a duration such as 30s or 24h, but is \"a day\"");
        let problem =
            settings("BELFRY_OUTBOX_BATCH", "500").whole("BELFRY_OUTBOX_BATCH", 50, 1..=200).expect_err("wrong");
        assert_eq!(problem.to_string(), "BELFRY_OUTBOX_BATCH must be a whole number from 1 to 200, but is \"500\"");
    }

    #[test]
    fn the_defaults_are_the_specifications() {
        let none = Settings::from_iter([]);
        assert_eq!(none.backoff().expect("a backoff"), Backoff::default());
        assert_eq!(none.processed_retention().expect("a retention"), DAY * 30);
        assert_eq!(none.event_retention().expect("a retention"), Some(DAY * 400));
        assert_eq!(none.outbox_attempts().expect("attempts"), 10);
    }

    #[test]
    fn jitter_runs_from_a_smaller_number_to_a_larger_one() {
        let narrow: Settings = [("BELFRY_BACKOFF_JITTER_MIN", "0.9"), ("BELFRY_BACKOFF_JITTER_MAX", "0.8")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect();
        let problem = narrow.backoff().expect_err("the wrong way round").to_string();
        assert_eq!(problem, "BELFRY_BACKOFF_JITTER_MAX must be a number from 0.9 to 10, but is \"0.8\"");
    }

    #[test]
    fn what_is_neither_true_nor_false_names_itself() {
        let problem = settings("BELFRY_RETENTION_ENABLED", "no").event_retention().expect_err("wrong").to_string();
        assert_eq!(problem, "BELFRY_RETENTION_ENABLED must be one of true, false, but is \"no\"");
    }

    #[test]
    fn a_duration_below_its_least_is_refused() {
        let (day, minute) = (Duration::from_secs(86_400), Duration::from_secs(60));
        let problem = settings("BELFRY_KEY_TTL", "1s").duration("BELFRY_KEY_TTL", day, minute).expect_err("too short");
        assert_eq!(problem.to_string(), "BELFRY_KEY_TTL must be at least 60s, but is \"1s\"");
    }

    #[test]
    fn a_word_is_one_of_those_that_are_known() {
        let problem =
            settings("BELFRY_LOG", "loud").one_of("BELFRY_LOG", "info", &["warn", "info"]).expect_err("wrong");
        assert_eq!(problem.to_string(), "BELFRY_LOG must be one of warn, info, but is \"loud\"");
    }

    #[test]
    fn durations_have_a_unit() {
        for (text, millis) in
            [("500ms", 500), ("30s", 30_000), ("15m", 900_000), ("24h", 86_400_000), ("30d", 2_592_000_000)]
        {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "30", "s", "-1s", "1.5h", "30 s", "1w", "99999999999999999999s", "18446744073709551615d"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
