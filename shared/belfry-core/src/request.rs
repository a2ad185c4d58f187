//! What identifies a request: the caller, the idempotency key and the fingerprint; and the response that is stored.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Trace;
use crate::item::Unwritable;

/// The caller. Keys are scoped to it, so nobody can read or block another caller's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The token's `iss`.
    pub issuer: String,
    /// The token's `sub`.
    pub subject: String,
}

/// An idempotency key: 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

/// The text cannot be an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 255 visible ASCII characters")]
pub struct NotAKey;

impl IdempotencyKey {
    /// Accepts 1 to 255 visible ASCII characters.
    pub fn parse(text: &str) -> Result<Self, NotAKey> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if visible && (1..=255).contains(&text.len()) { Ok(Self(text.to_owned())) } else { Err(NotAKey) }
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// SHA-256 of method, path and canonical body. It tells a repeated request from a different one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of a request with a JSON body. The order of fields and white space do not matter.
    pub fn of_json(method: &str, path: &str, body: &Value) -> Result<Self, serde_json::Error> {
        Ok(Self::of(method, path, &serde_json::to_vec(&Sorted(body))?))
    }

    /// The fingerprint of any request. Each part is hashed after its length, so that different requests never hash alike.
    pub fn of(method: &str, path: &str, canonical_body: &[u8]) -> Self {
        let mut hash = Sha256::new();
        for part in [method.as_bytes(), path.as_bytes(), canonical_body] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self(hex::encode(hash.finalize()))
    }
}

/// JSON with sorted fields.
struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let fields: BTreeMap<_, _> = fields.iter().map(|(name, value)| (name, Sorted(value))).collect();
                serializer.collect_map(fields)
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            other => other.serialize(serializer),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A request that is executed once.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who calls.
    pub caller: Caller,
    /// The idempotency key.
    pub key: IdempotencyKey,
    /// What is requested.
    pub fingerprint: Fingerprint,
    /// The trace that the request belongs to.
    pub trace: Option<Trace>,
    /// No new attempt starts after this moment.
    pub deadline: Option<Instant>,
}

/// A response, stored with the effect and replayed byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
    problem: Option<Unwritable>,
}

impl StoredResponse {
    /// A response with a JSON body. If the body cannot be serialized, the commit reports it and writes nothing.
    pub fn json(status: u16, body: &(impl Serialize + ?Sized)) -> Self {
        match serde_json::to_string(body) {
            Ok(body) => Self { status, body, problem: None },
            Err(error) => Self { status, body: String::new(), problem: Some(error.into()) },
        }
    }

    /// A response that was stored.
    #[doc(hidden)]
    pub fn stored(status: u16, body: String) -> Self {
        Self { status, body, problem: None }
    }

    #[doc(hidden)]
    pub fn check(&self) -> Result<(), Unwritable> {
        self.problem.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_1_to_255_visible_ascii_characters() {
        let longest = "k".repeat(255);
        let too_long = "k".repeat(256);
        for text in ["k", "a#b/c%d", "!~", longest.as_str()] {
            assert_eq!(IdempotencyKey::parse(text).expect("a key").as_str(), text);
        }
        for text in ["", " ", "a b", "a\t", "a\u{7f}", "ü", too_long.as_str()] {
            assert_eq!(IdempotencyKey::parse(text), Err(NotAKey), "{text:?}");
        }
    }

    #[test]
    fn order_and_white_space_do_not_change_the_fingerprint_and_anything_else_does() {
        let of = |body: &str| {
            let body = serde_json::from_str(body).expect("json");
            Fingerprint::of_json("POST", "/a", &body).expect("a fingerprint")
        };
        assert_eq!(of(r#"{"b": [1, {"y": 2, "x": null}], "a": "ü"}"#), of(r#"{"a":"ü","b":[1,{"x":null,"y":2}]}"#));
        assert_ne!(of(r#"{"a": [1, 2]}"#), of(r#"{"a": [2, 1]}"#));
        assert_ne!(of(r#"{"a": 1}"#), of(r#"{"a": "1"}"#));
        assert_ne!(of(r#"{"a": null}"#), of("{}"));
    }

    #[test]
    fn moving_a_byte_from_one_part_to_the_next_changes_the_fingerprint() {
        assert_ne!(Fingerprint::of("POST", "/a", b"b"), Fingerprint::of("POST", "/", b"ab"));
        assert_ne!(Fingerprint::of("POST", "/a", b"b"), Fingerprint::of("POS", "T/a", b"b"));
        assert_eq!(Fingerprint::of("POST", "/a", b"b"), Fingerprint::of("POST", "/a", b"b"));
    }
}
