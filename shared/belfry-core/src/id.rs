//! Identifiers: 1 to 128 visible characters.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The maximum length of an identifier, in characters.
pub const LONGEST: usize = 128;

/// The text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 128 visible characters")]
pub struct NotAnId;

/// Accepts 1 to 128 visible characters: no spaces, no control, zero-width or bidirectional characters.
pub fn parse(text: String) -> Result<String, NotAnId> {
    let visible =
        |c: char| !matches!(c.general_category_group(), GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator);
    let length = text.chars().count();
    if (1..=LONGEST).contains(&length) && text.chars().all(visible) { Ok(text) } else { Err(NotAnId) }
}

/// Declares identifier types. Each accepts 1 to 128 visible characters and is created by its parser alone, so that one
/// kind of id cannot be passed where another is expected.
///
/// ```
/// belfry_core::ids! {
///     /// A library's reader.
///     ReaderId,
/// }
/// assert_eq!(ReaderId::parse("ada").unwrap().as_str(), "ada");
/// assert!(ReaderId::parse("a\u{200b}da").is_err());
/// ```
#[macro_export]
macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// Accepts 1 to 128 visible characters.
            pub fn parse(text: impl Into<String>) -> Result<Self, $crate::id::NotAnId> {
                $crate::id::parse(text.into()).map(Self)
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::id::NotAnId;

            fn try_from(text: String) -> Result<Self, $crate::id::NotAnId> {
                Self::parse(text)
            }
        }

        impl From<&$name> for $crate::item::KeyValue {
            fn from(id: &$name) -> Self {
                id.as_str().into()
            }
        }
    )+};
}

ids! {
    /// The id of an event: a UUIDv7, or the id that a source system gave it.
    #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = LONGEST)))]
    EventId,
}

impl From<uuid::Uuid> for EventId {
    fn from(id: uuid::Uuid) -> Self {
        Self(id.to_string())
    }
}

/// Joins parts into one key with `#` between them. `#` and `%` inside a part are escaped, so different parts never give
/// the same key.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_characters_of_any_script_are_accepted() {
        for text in ["u1", "a#b/c%d", "Jürgen", "予約-7", &"x".repeat(128)] {
            assert_eq!(EventId::parse(text).expect("an id").as_str(), text);
        }
    }

    #[test]
    fn invisible_characters_are_refused() {
        let too_long = "x".repeat(129);
        for text in ["", " ", "a b", "a\n", "a\u{0}", "a\u{200b}b", "a\u{202e}b", "\u{feff}", too_long.as_str()] {
            assert_eq!(EventId::parse(text), Err(NotAnId), "{text:?}");
        }
    }

    #[test]
    fn serde_uses_the_parser() {
        assert!(serde_json::from_str::<EventId>("\"a b\"").is_err());
        assert!(serde_json::from_str::<EventId>("7").is_err());
        assert_eq!(serde_json::from_str::<EventId>("\"a\"").expect("an id").as_str(), "a");
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
}
