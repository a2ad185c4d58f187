//! Settings from environment variables, read once at cold start. All mistakes are reported together.
//!
//! ```
//! use std::time::Duration;
//! use belfry_core::Settings;
//!
//! let mut settings: Settings = [("LOANS_LIMIT", "many"), ("LOANS_PERIOD", "4w")]
//!     .into_iter()
//!     .map(|(name, value)| (name.to_owned(), value.to_owned()))
//!     .collect();
//! let limit = settings.whole("LOANS_LIMIT", 5, 1..=50);
//! let period = settings.duration("LOANS_PERIOD", Duration::from_secs(60), Duration::ZERO);
//! let library = settings.text("LOANS_LIBRARY");
//!
//! let mistakes = settings.finish().unwrap_err();
//! assert_eq!(mistakes.0.len(), 3);
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Reads variables and collects the mistakes. A variable that is set to blank text counts as not set, because
/// `sam local` passes `""` for `AWS::NoValue`.
///
/// Each method returns a usable value even after a mistake; [`finish`](Self::finish) says whether there were any.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<String, String>,
    mistakes: Vec<BadSetting>,
}

/// A setting that is missing or wrong, in one sentence that names it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSetting(String);

impl BadSetting {
    /// A mistake in these words. They must name the variable and must not repeat a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    fn wrong(name: &str, expected: &str, value: &str) -> Self {
        Self(format!("{name} must be {expected}, but is \"{value}\""))
    }
}

/// Every mistake in the settings.
#[derive(Clone, PartialEq, Eq)]
pub struct BadSettings(pub Vec<BadSetting>);

impl fmt::Display for BadSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

/// The sentences, because `main` prints the errors it returns in this form.
impl fmt::Debug for BadSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BadSettings {}

impl FromIterator<(String, String)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(values: I) -> Self {
        Self { values: values.into_iter().collect(), mistakes: Vec::new() }
    }
}

impl Settings {
    /// The variables of this process.
    pub fn from_env() -> Self {
        std::env::vars().collect()
    }

    /// Reports every mistake that was found.
    pub fn finish(self) -> Result<(), BadSettings> {
        if self.mistakes.is_empty() { Ok(()) } else { Err(BadSettings(self.mistakes)) }
    }

    /// Adds a mistake that the application found, such as two settings that contradict each other.
    pub fn mistake(&mut self, mistake: impl Into<BadSetting>) {
        let mistake = mistake.into();
        if !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    /// The text of a variable, if it is set.
    pub fn optional(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// A text that must be set.
    pub fn text(&mut self, name: &str) -> String {
        self.optional(name).unwrap_or_else(|| {
            self.mistake(BadSetting(format!("{name} is not set")));
            String::new()
        })
    }

    /// A text with a default.
    pub fn text_or(&self, name: &str, default: &str) -> String {
        self.get(name).unwrap_or(default).to_owned()
    }

    /// A value that `parse` accepts, or the default if the variable is not set.
    pub fn parse<T>(&mut self, name: &str, default: T, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> T {
        let Some(value) = self.get(name) else { return default };
        match parse(value) {
            Some(parsed) => parsed,
            None => {
                let wrong = BadSetting::wrong(name, expected, value);
                self.mistake(wrong);
                default
            }
        }
    }

    /// One of these words.
    pub fn one_of(&mut self, name: &str, default: &'static str, words: &[&'static str]) -> &'static str {
        let word = |value: &str| words.iter().find(|word| **word == value).copied();
        self.parse(name, default, &format!("one of {}", words.join(", ")), word)
    }

    /// `true` or `false`.
    pub fn flag(&mut self, name: &str, default: bool) -> bool {
        self.one_of(name, if default { "true" } else { "false" }, &["true", "false"]) == "true"
    }

    /// A whole number within bounds.
    pub fn whole(&mut self, name: &str, default: u32, bounds: RangeInclusive<u32>) -> u32 {
        let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        self.parse(name, default, &expected, |value| value.parse().ok().filter(|number| bounds.contains(number)))
    }

    /// A number within bounds.
    pub fn decimal(&mut self, name: &str, default: f64, bounds: RangeInclusive<f64>) -> f64 {
        let expected = format!("a number from {} to {}", bounds.start(), bounds.end());
        self.parse(name, default, &expected, |value| value.parse().ok().filter(|number| bounds.contains(number)))
    }

    /// A duration such as `500ms`, `30s`, `15m`, `24h` or `30d`, of at least `least`.
    pub fn duration(&mut self, name: &str, default: Duration, least: Duration) -> Duration {
        let parsed = self.parse(name, default, "a duration such as 30s or 24h", parse_duration);
        if parsed < least && self.get(name).is_some() {
            let value = self.text_or(name, "");
            self.mistake(BadSetting::wrong(name, &format!("at least {}s", least.as_secs()), &value));
        }
        parsed.max(least)
    }

    /// The variables whose names start and end like this, by the part between.
    pub fn between<'a>(&'a self, prefix: &str, suffix: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.values
            .iter()
            .filter(|(_, value)| !value.trim().is_empty())
            .filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?.strip_suffix(suffix)?, value.as_str())))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }
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

    const DAY: Duration = Duration::from_secs(86_400);

    fn settings(values: &[(&str, &str)]) -> Settings {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn mistakes(settings: Settings) -> Vec<String> {
        settings.finish().map_or_else(|bad| bad.0.iter().map(ToString::to_string).collect(), |()| Vec::new())
    }

    #[test]
    fn all_mistakes_are_reported_together() {
        let mut settings = settings(&[
            ("BELFRY_KEY_TTL", "a day"),
            ("BELFRY_OUTBOX_BATCH", "500"),
            ("BELFRY_LOG", "loud"),
            ("BELFRY_OUTBOX_LEASE", "1s"),
            ("BELFRY_ENABLED", "no"),
        ]);
        settings.duration("BELFRY_KEY_TTL", DAY, Duration::ZERO);
        settings.whole("BELFRY_OUTBOX_BATCH", 50, 1..=200);
        settings.one_of("BELFRY_LOG", "info", &["warn", "info"]);
        settings.duration("BELFRY_OUTBOX_LEASE", DAY, Duration::from_secs(60));
        settings.flag("BELFRY_ENABLED", true);
        settings.text("BELFRY_EVENTS_TABLE");
        settings.text("BELFRY_EVENTS_TABLE");
        assert_eq!(
            mistakes(settings),
            [
                "BELFRY_KEY_TTL must be a duration such as 30s or 24h, but is \"a day\"",
                "BELFRY_OUTBOX_BATCH must be a whole number from 1 to 200, but is \"500\"",
                "BELFRY_LOG must be one of warn, info, but is \"loud\"",
                "BELFRY_OUTBOX_LEASE must be at least 60s, but is \"1s\"",
                "BELFRY_ENABLED must be one of true, false, but is \"no\"",
                "BELFRY_EVENTS_TABLE is not set",
            ]
        );
    }

    #[test]
    fn a_blank_setting_is_not_set() {
        for blank in ["", " "] {
            let mut settings = settings(&[("BELFRY_X", blank)]);
            assert_eq!(settings.optional("BELFRY_X"), None);
            assert_eq!(settings.text_or("BELFRY_X", "default"), "default");
            assert_eq!(settings.one_of("BELFRY_X", "a", &["a", "b"]), "a");
            assert!(settings.flag("BELFRY_X", true));
            assert_eq!(settings.duration("BELFRY_X", DAY, DAY), DAY);
            assert_eq!(settings.whole("BELFRY_X", 5, 1..=10), 5);
            assert!((settings.decimal("BELFRY_X", 0.5, 0.0..=1.0) - 0.5).abs() < f64::EPSILON);
            assert_eq!(settings.between("BELFRY_", "").count(), 0);
            settings.text("BELFRY_X");
            assert_eq!(mistakes(settings), ["BELFRY_X is not set"]);
        }
    }

    #[test]
    fn variables_are_found_by_both_ends_of_their_names() {
        let settings = settings(&[("BELFRY_EVENTS_TABLE", "e"), ("BELFRY_LOG", "info"), ("OTHER_TABLE", "o")]);
        assert_eq!(settings.between("BELFRY_", "_TABLE").collect::<Vec<_>>(), [("EVENTS", "e")]);
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
