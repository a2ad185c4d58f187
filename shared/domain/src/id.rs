//! Identifiers that come from outside: 1 to 128 visible characters.
//!
//! Each kind is a type of its own, made by its parser alone, so that a user id cannot stand where a unit is
//! wanted and nothing invisible (control, space, zero-width, bidirectional) reaches a key or a log.

use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The most characters that an identifier may have.
pub const LONGEST: usize = 128;

/// The text cannot be an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 128 visible characters")]
pub struct NotAnId;

fn parse(text: String) -> Result<String, NotAnId> {
    let visible =
        |c: char| !matches!(c.general_category_group(), GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator);
    let length = text.chars().count();
    if (1..=LONGEST).contains(&length) && text.chars().all(visible) { Ok(text) } else { Err(NotAnId) }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = LONGEST)))]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// Takes 1 to 128 visible characters, as they are.
            pub fn parse(text: impl Into<String>) -> Result<Self, NotAnId> {
                parse(text.into()).map(Self)
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;

            fn try_from(text: String) -> Result<Self, NotAnId> {
                Self::parse(text)
            }
        }
    )+};
}

ids! {
    /// A person, within one audience.
    UserId,
    /// What is sold or granted.
    StockKeepingUnit,
    /// The purchase (or other cause) that a grant or revoke refers to.
    PurchaseId,
    /// An event: a UUID v7 of ours, or the id that a source system gave it.
    EventId,
    /// What a source calls the type of its event, or the kind or the id of what it happened to.
    SourceName,
    /// A restaurant.
    RestaurantId,
    /// An agency.
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

/// Joins parts into one key with `#` between them.
///
/// `#` and `%` inside a part are escaped, so different lists of parts never give the same key: no choice of
/// ids reaches another user's data.
pub fn compose(parts: &[&str]) -> String {
    let mut key = String::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            key.push('#');
        }
        for c in part.chars() {
            match c {
                '#' => key.push_str("%23"),
                '%' => key.push_str("%25"),
                other => key.push(other),
            }
        }
    }
    key
}

impl From<uuid::Uuid> for EventId {
    fn from(id: uuid::Uuid) -> Self {
        Self(id.to_string())
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

    proptest::proptest! {
        #[test]
        fn different_parts_never_compose_to_the_same_key(
            left in proptest::collection::vec("[a#%2 3]{0,4}", 1..4),
            right in proptest::collection::vec("[a#%2 3]{0,4}", 1..4),
        ) {
            let key = |parts: &[String]| compose(&parts.iter().map(String::as_str).collect::<Vec<_>>());
            proptest::prop_assert_eq!(left == right, key(&left) == key(&right));
        }
    }

    #[test]
    fn serde_goes_through_the_parser() {
        assert!(serde_json::from_str::<UserId>("\"a b\"").is_err());
        assert!(serde_json::from_str::<UserId>("7").is_err());
        assert_eq!(serde_json::from_str::<UserId>("\"a\"").expect("an id").as_str(), "a");
    }
}
