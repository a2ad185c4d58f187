//! Request bodies: JSON of at most 128 KiB, without unknown fields, and without a field that appears twice.

use std::fmt;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, error::Category};

use crate::error::{Detail, ErrorCode, HttpError};
use crate::problem::read_json;

/// The largest body that is read, in bytes.
pub const LARGEST: usize = 128 * 1024;

/// A JSON body, and the JSON that the fingerprint is made of.
#[derive(Debug)]
pub struct JsonBody<T> {
    /// The body.
    pub parsed: T,
    /// The same as JSON.
    pub json: Value,
}

impl<T: DeserializeOwned> JsonBody<T> {
    pub(crate) async fn read(headers: &HeaderMap, body: Body) -> Result<Self, HttpError> {
        if !is_json(headers) {
            return Err(HttpError::new(ErrorCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json"));
        }
        parse(&bytes(body).await?)
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, _: &S) -> Result<Self, HttpError> {
        let (parts, body) = request.into_parts();
        Self::read(&parts.headers, body).await
    }
}

/// The body of a request that needs none: nothing, or an object without fields.
#[derive(Debug)]
pub struct NoBody {
    /// The same as JSON.
    pub json: Value,
}

impl NoBody {
    pub(crate) async fn read(body: Body) -> Result<Self, HttpError> {
        let bytes = bytes(body).await?;
        let body = if bytes.is_empty() { b"{}".as_slice() } else { &bytes };
        parse::<Empty>(body).map(|body| Self { json: body.json })
    }
}

impl<S: Sync> FromRequest<S> for NoBody {
    type Rejection = HttpError;

    async fn from_request(request: Request, _: &S) -> Result<Self, HttpError> {
        Self::read(request.into_body()).await
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Empty {}

/// Reads a part of a body. What is wrong names the field by its path.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Detail> {
    read_json(value, "body")
}

async fn bytes(body: Body) -> Result<Bytes, HttpError> {
    let too_large = || HttpError::new(ErrorCode::PAYLOAD_TOO_LARGE, "the body must be at most 128 KiB");
    to_bytes(body, LARGEST).await.map_err(|_| too_large())
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = media_type.and_then(|media_type| media_type.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<JsonBody<T>, HttpError> {
    let NoFieldTwice(json) =
        serde_json::from_slice(bytes).map_err(|error| HttpError::field("body", not_json(&error)))?;
    let parsed = read(&json).map_err(|detail| HttpError::fields([detail]))?;
    Ok(JsonBody { parsed, json })
}

fn not_json(error: &serde_json::Error) -> String {
    match error.classify() {
        // Ours: serde_json adds the place.
        Category::Data => error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
        Category::Eof => "is not complete JSON".to_owned(),
        Category::Syntax | Category::Io => {
            format!("is not valid JSON at line {} column {}", error.line(), error.column())
        }
    }
}

/// JSON in which no object names a field twice. Parsers differ on which of the two counts, so neither does.
struct NoFieldTwice(Value);

impl<'de> Deserialize<'de> for NoFieldTwice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(NoFieldTwice(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = serde_json::Map::new();
        while let Some((name, NoFieldTwice(value))) = fields.next_entry::<String, _>()? {
            if object.insert(name.clone(), value).is_some() {
                return Err(de::Error::custom(format_args!("{name} appears twice")));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &[u8]) -> String {
        parse::<Value>(text).expect_err("refused").message().to_owned()
    }

    #[test]
    fn a_field_twice_is_refused_at_any_depth() {
        for text in [r#"{"a": 1, "a": 1}"#, r#"{"b": {"a": 1, "a": 2}}"#, r#"[{"a": 1, "\u0061": 2}]"#] {
            assert_eq!(problem(text.as_bytes()), "body: a appears twice", "{text}");
        }
    }

    #[test]
    fn json_too_deep_to_be_meant_is_refused() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(parse::<Value>(deep.as_bytes()).is_err());
    }

    #[test]
    fn what_is_not_json_is_said_without_the_parsers_words() {
        assert_eq!(problem(b""), "body: is not complete JSON");
        assert_eq!(problem(b"{\"a\": nonsense}"), "body: is not valid JSON at line 1 column 8");
        assert!(problem(&[b'"', 0xff, b'"']).starts_with("body: is not valid JSON"));
    }

    #[tokio::test]
    async fn no_body_is_nothing_or_an_empty_object() {
        for body in ["", "{}", " { } "] {
            assert_eq!(NoBody::read(Body::from(body)).await.expect("no body").json, serde_json::json!({}));
        }
        let refused = NoBody::read(Body::from("{\"a\": 1}")).await.expect_err("refused");
        assert_eq!(refused.message(), "a: is not a known field");
    }
}
