//! What the payment provider calls the payment of an order.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of a payment intent: 1 to 255 ASCII letters, digits, `_` and `-`, so that it can stand in a path as it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = 255)))]
#[serde(into = "String", try_from = "String")]
pub struct IntentId(String);

/// The text cannot be an intent's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 255 ASCII letters, digits, _ and -")]
pub struct NotAnIntentId;

impl IntentId {
    /// Takes the id as the provider gave it.
    pub fn parse(text: impl Into<String>) -> Result<Self, NotAnIntentId> {
        let text = text.into();
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if plain && (1..=255).contains(&text.len()) { Ok(Self(text)) } else { Err(NotAnIntentId) }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<IntentId> for String {
    fn from(id: IntentId) -> Self {
        id.0
    }
}

impl TryFrom<String> for IntentId {
    type Error = NotAnIntentId;

    fn try_from(text: String) -> Result<Self, NotAnIntentId> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intents_id_cannot_lead_to_another_path() {
        for id in ["pi_3MtwBwLkdIwHu7ix28a3tqPa", "pi-1", &"a".repeat(255)] {
            assert_eq!(IntentId::parse(id).expect("an id").as_str(), id);
        }
        for other in ["", ".", "..", "pi/1", "pi?1", "pi#1", "pi%2F1", "pi 1", "pï_1", &"a".repeat(256)] {
            assert_eq!(IntentId::parse(other), Err(NotAnIntentId), "{other}");
        }
    }

    #[test]
    fn an_intents_id_is_a_string_that_is_checked_when_it_is_read() {
        let id = IntentId::parse("pi_1").expect("an id");
        assert_eq!(serde_json::to_string(&id).expect("JSON"), r#""pi_1""#);
        assert_eq!(serde_json::from_str::<IntentId>(r#""pi_1""#).expect("an id"), id);
        assert!(serde_json::from_str::<IntentId>(r#""pi/1""#).is_err());
    }
}
