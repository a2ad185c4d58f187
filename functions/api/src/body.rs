//! Request bodies: JSON of at most 128 KiB, no field twice, no field unknown.

use std::fmt;

use axum::body::{Body, to_bytes};
use axum::extract::FromRequest;
use axum::http::{HeaderMap, Request, header};
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::error::{ApiError, Code, Detail};

/// The largest body that is read.
pub const LARGEST: usize = 128 * 1024;

/// A parsed body, and the JSON that it was, which the fingerprint is made of.
#[derive(Debug)]
pub struct JsonBody<T> {
    /// The body.
    pub parsed: T,
    /// The same as JSON.
    pub json: Value,
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(ApiError::new(Code::UnsupportedMediaType, "the body must be application/json"));
        }
        let too_large = || ApiError::new(Code::PayloadTooLarge, "the body must be at most 128 KiB");
        let bytes = to_bytes(request.into_body(), LARGEST).await.map_err(|_| too_large())?;
        parse(&bytes)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = media_type.and_then(|media_type| media_type.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<JsonBody<T>, ApiError> {
    let NoFieldTwice(value) = serde_json::from_slice(bytes).map_err(|error| ApiError::field("body", error))?;
    let parsed = fields(&value).map_err(|detail| ApiError::fields([detail]))?;
    Ok(JsonBody { parsed, json: value })
}

/// Reads a value; what is wrong names its field by its path.
pub fn fields<T: DeserializeOwned>(value: &Value) -> Result<T, Detail> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "body".to_owned() } else { path };
        Detail { field, problem: error.into_inner().to_string() }
    })
}

/// The body of a request that needs none: nothing, or an object without fields.
#[derive(Debug)]
pub struct NoBody {
    /// The same as JSON.
    pub json: Value,
}

impl<S: Sync> FromRequest<S> for NoBody {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let too_large = || ApiError::new(Code::PayloadTooLarge, "the body must be at most 128 KiB");
        let bytes = to_bytes(request.into_body(), LARGEST).await.map_err(|_| too_large())?;
        if bytes.is_empty() {
            return Ok(Self { json: Value::Object(serde_json::Map::new()) });
        }
        let body: JsonBody<Empty> = parse(&bytes)?;
        Ok(Self { json: body.json })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Empty {}

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
                return Err(de::Error::custom(format_args!("field `{name}` appears twice")));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_twice_is_refused_at_any_depth() {
        for text in [r#"{"a": 1, "a": 1}"#, r#"{"a": {"b": 1, "b": 2}}"#, r#"[{"a": 1, "\u0061": 2}]"#] {
            assert!(parse::<Value>(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn json_too_deep_to_be_meant_is_refused() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(parse::<Value>(deep.as_bytes()).is_err());
    }
}
