//! The reader of a text: the language and the time zone.

use std::sync::LazyLock;

use domain::recipient::RecipientDetails;
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// The time zones compiled into the binary, the same on every machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The languages of all texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// English.
    En,
    /// Italian.
    It,
}

impl Language {
    /// All languages. The first is the default.
    pub const ALL: [Self; 2] = [Self::En, Self::It];

    /// Returns the language tag, as in template names and stored texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::It => "it",
        }
    }

    /// Returns the best match for a language tag: the tag itself, its shorter forms (`it-IT`, `it`), or English.
    pub fn best(tag: &str) -> Self {
        let mut range = tag;
        loop {
            if let Some(found) = Self::ALL.into_iter().find(|language| language.as_str().eq_ignore_ascii_case(range)) {
                return found;
            }
            match range.rsplit_once('-') {
                Some((shorter, _)) => range = shorter,
                None => return Self::En,
            }
        }
    }
}

/// The language and time zone of a text's reader.
#[derive(Debug, Clone)]
pub struct Reader {
    pub(crate) language: Language,
    time_zone: TimeZone,
}

/// Returns whether this is the name of an IANA time zone.
pub fn is_time_zone(name: &str) -> bool {
    ZONES.get(name).is_ok()
}

impl Reader {
    /// Creates a reader with a language and an IANA time zone. An unknown or missing zone is UTC, which every time names.
    pub fn new(language: Language, time_zone: Option<&str>) -> Self {
        let time_zone = time_zone.and_then(|name| ZONES.get(name).ok()).unwrap_or(TimeZone::UTC);
        Self { language, time_zone }
    }

    /// Formats the time in the reader's language and time zone.
    pub(crate) fn when(&self, moment: Timestamp) -> String {
        let local = moment.to_zoned(self.time_zone.clone());
        let zone = self.time_zone.to_offset_info(moment);
        let weekday = usize::from(local.weekday().to_monday_zero_offset().unsigned_abs());
        let month = usize::from(local.month().unsigned_abs()) - 1;
        let (weekdays, months) = match self.language {
            Language::En => (EN_WEEKDAYS, EN_MONTHS),
            Language::It => (IT_WEEKDAYS, IT_MONTHS),
        };
        format!(
            "{} {} {} {}, {:02}:{:02} {}",
            weekdays[weekday],
            local.day(),
            months[month],
            local.year(),
            local.hour(),
            local.minute(),
            zone.abbreviation()
        )
    }
}

impl From<&RecipientDetails> for Reader {
    fn from(details: &RecipientDetails) -> Self {
        let language = details.locale.as_ref().map_or(Language::En, |locale| Language::best(locale.as_str()));
        Self::new(language, details.time_zone.as_ref().map(|zone| zone.as_str()))
    }
}

impl minijinja::value::Object for Reader {}

const EN_WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const IT_WEEKDAYS: [&str; 7] = ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"];
const EN_MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const IT_MONTHS: [&str; 12] = [
    "gennaio",
    "febbraio",
    "marzo",
    "aprile",
    "maggio",
    "giugno",
    "luglio",
    "agosto",
    "settembre",
    "ottobre",
    "novembre",
    "dicembre",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_matches_its_tag_or_a_shorter_one_or_is_english() {
        for (tag, language) in [
            ("it", Language::It),
            ("it-IT", Language::It),
            ("IT-it", Language::It),
            ("it-Latn-CH", Language::It),
            ("en-GB", Language::En),
            ("de-AT", Language::En),
            ("ita", Language::En),
        ] {
            assert_eq!(Language::best(tag), language, "{tag}");
        }
    }

    #[test]
    fn time_is_in_the_readers_zone_in_summer_and_winter() {
        let when = |moment: &str, language, zone| Reader::new(language, zone).when(moment.parse().expect("a moment"));
        let rome = Some("Europe/Rome");
        assert_eq!(when("2026-01-30T23:30:00Z", Language::En, rome), "Saturday 31 January 2026, 00:30 CET");
        assert_eq!(when("2026-07-31T18:00:00+02:00", Language::It, rome), "venerdì 31 luglio 2026, 18:00 CEST");
        assert_eq!(when("2026-01-31T19:00:00Z", Language::It, None), "sabato 31 gennaio 2026, 19:00 UTC");
        assert_eq!(
            when("2026-01-31T19:00:00Z", Language::En, Some("Moon/Base")),
            "Saturday 31 January 2026, 19:00 UTC"
        );
    }
}
