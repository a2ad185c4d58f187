//! Whom a text is for: the language and the time zone that it is written in.

use std::sync::LazyLock;

use domain::recipient::RecipientDetails;
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// The zones of this build: the same everywhere, whatever the machine has.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The languages that every text exists in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// English.
    En,
    /// Italian.
    It,
}

impl Language {
    /// All of them; the first is for those whose own is not among them.
    pub const ALL: [Self; 2] = [Self::En, Self::It];

    /// The language tag, as templates and stored texts are named.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::It => "it",
        }
    }

    /// The best there is for a language tag: itself, else ever shorter ones (`it-IT`, `it`), else English.
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

/// Whom a text is for.
#[derive(Debug, Clone)]
pub struct Reader {
    pub(crate) language: Language,
    time_zone: TimeZone,
}

/// Whether there is an IANA time zone of this name.
pub fn is_time_zone(name: &str) -> bool {
    ZONES.get(name).is_ok()
}

impl Reader {
    /// A reader of this language in this IANA time zone; UTC, which every time then says, where there is none such.
    pub fn new(language: Language, time_zone: Option<&str>) -> Self {
        let time_zone = time_zone.and_then(|name| ZONES.get(name).ok()).unwrap_or(TimeZone::UTC);
        Self { language, time_zone }
    }

    /// The moment by the reader's calendar and clock.
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
    fn a_language_is_found_by_its_tag_by_a_shorter_one_or_is_english() {
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
    fn a_moment_is_told_by_the_readers_clock_in_summer_and_in_winter() {
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
