//! Identifiers that come from outside: 1 to 128 visible characters.
//!
//! Each kind is a type of its own, made by its parser alone, so that a user id cannot stand where a unit is
//! wanted and nothing invisible (control, space, zero-width, bidirectional) reaches a key or a log.

use serde::{Deserialize, Serialize};

pub use belfry_core::EventId;
pub use belfry_core::id::{LONGEST, NotAnId, compose};

belfry_core::ids! {
    /// A person, within one audience.
    #[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = LONGEST)))]
    UserId,
    /// What is sold or granted.
    #[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = LONGEST)))]
    StockKeepingUnit,
    /// The purchase (or other cause) that a grant or revoke refers to.
    #[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = LONGEST)))]
    PurchaseId,
    /// What a source calls the type of its event, or the kind or the id of what it happened to.
    #[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = LONGEST)))]
    SourceName,
    /// A restaurant.
    #[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = LONGEST)))]
    RestaurantId,
    /// An agency.
    #[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = LONGEST)))]
    AgencyId,
}

/// Free text of one line that people read, such as a reason: 1 to 256 characters, none of them a control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = 256)))]
#[serde(into = "String", try_from = "String")]
pub struct Line(String);

/// The text cannot be a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 256 characters on one line")]
pub struct NotALine;

impl Line {
    /// Takes text that is not blank and has no control characters, as it is.
    pub fn parse(text: impl Into<String>) -> Result<Self, NotALine> {
        let text = text.into();
        let fits = (1..=256).contains(&text.chars().count());
        if fits && !text.trim().is_empty() && !text.chars().any(char::is_control) {
            Ok(Self(text))
        } else {
            Err(NotALine)
        }
    }

    /// A line of our own words.
    pub(crate) fn of(words: &'static str) -> Self {
        Self(words.to_owned())
    }

    /// The line as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Line> for String {
    fn from(line: Line) -> Self {
        line.0
    }
}

impl TryFrom<String> for Line {
    type Error = NotALine;

    fn try_from(text: String) -> Result<Self, NotALine> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_characters_of_any_script_are_taken_as_they_are() {
        for text in ["u1", "a#b/c%d", "Jürgen", "予約-7", &"x".repeat(128)] {
            assert_eq!(UserId::parse(text).expect("an id").as_str(), text);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_refused() {
        let too_long = "x".repeat(129);
        for text in ["", " ", "a b", "a\n", "a\u{0}", "a\u{200b}b", "a\u{202e}b", "\u{feff}", too_long.as_str()] {
            assert_eq!(UserId::parse(text), Err(NotAnId), "{text:?}");
        }
    }

    #[test]
    fn serde_goes_through_the_parser() {
        assert!(serde_json::from_str::<UserId>("\"a b\"").is_err());
        assert!(serde_json::from_str::<UserId>("7").is_err());
        assert_eq!(serde_json::from_str::<UserId>("\"a\"").expect("an id").as_str(), "a");
    }
}
