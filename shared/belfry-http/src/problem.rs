//! Reads JSON and query parameters into a type. What is wrong is said in the words of the request, with the path of the
//! field: never in those of serde or Rust.

use std::fmt::Display;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use crate::error::Detail;

/// Reads a value. `root` names it where no field of it is to blame.
pub(crate) fn read_json<T: DeserializeOwned>(value: &Value, root: &str) -> Result<T, Detail> {
    read_from(Json(value), root)
}

/// Reads parameters. Of one that is repeated, a map keeps the last; a struct refuses it.
pub(crate) fn read_parameters<T: DeserializeOwned>(parameters: &[(String, String)], root: &str) -> Result<T, Detail> {
    let parameters = parameters.iter().map(|(name, value)| (name.as_str(), Parameter(value)));
    read_from(MapDeserializer::new(parameters), root)
}

fn read_from<'de, T: DeserializeOwned>(
    deserializer: impl Deserializer<'de, Error = Problem>,
    root: &str,
) -> Result<T, Detail> {
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { root.to_owned() } else { path };
        Detail { field, problem: error.into_inner().0 }
    })
}

/// What is wrong with a value.
#[derive(Debug)]
struct Problem(String);

impl Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    /// The words of a type's own parser; serde's derived code has three of its own.
    fn custom<T: Display>(message: T) -> Self {
        let text = message.to_string();
        if text.starts_with("unknown field") {
            Self("is not a known field".to_owned())
        } else if text.starts_with("data did not match") || text.starts_with("no variant of") {
            Self("is not one of the allowed values".to_owned())
        } else {
            Self(text)
        }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self(format!("must be {}", words(&expected.to_string())))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self(format!("has the wrong length; must be {}", words(&expected.to_string())))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(format!("must be {}", listed(expected)))
    }

    fn unknown_field(_: &str, _: &'static [&'static str]) -> Self {
        Self("is not a known field".to_owned())
    }

    fn missing_field(field: &'static str) -> Self {
        Self(format!("{field} is required"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self(format!("{field} appears twice"))
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "left out".to_owned(),
        [one] => (*one).to_owned(),
        several => format!("one of {}", several.join(", ")),
    }
}

/// What serde calls a type, as JSON calls it. A parser's own words stay as they are.
fn words(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "u128" | "usize" => "a whole number, not negative",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "a borrowed string" | "string" => "text",
        "a sequence" => "a list",
        "a map" => "an object",
        "unit" => "null",
        text if text.starts_with("struct ") => "an object",
        text if text.starts_with("a tuple") || text.starts_with("tuple ") => "a list",
        text if text.contains("enum ") || text.contains("variant ") => "one of the allowed values",
        text => text,
    }
}

/// A JSON value whose errors are in our words.
#[derive(Clone, Copy)]
struct Json<'a>(&'a Value);

impl<'de> IntoDeserializer<'de, Problem> for Json<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Json<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (.., number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.iter().map(Json));
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Value::Object(fields) => {
                let mut fields = MapDeserializer::new(fields.iter().map(|(name, value)| (name.as_str(), Json(value))));
                let value = visitor.visit_map(&mut fields)?;
                fields.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    /// Serde would also take a list, whose items stand for the fields in order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.0 {
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.0 {
            Value::String(variant) => visitor.visit_enum(variant.as_str().into_deserializer()),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.as_str(), Json(value)));
                visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(fields)))
            }
            _ => Err(de::Error::unknown_variant("", variants)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// A parameter: text, or a number or flag where one is wanted.
struct Parameter<'a>(&'a str);

impl<'de> IntoDeserializer<'de, Problem> for Parameter<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident => $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
            match self.0.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(de::Error::invalid_type(Unexpected::Str(self.0), &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Parameter<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed! {
        deserialize_bool => visit_bool
        deserialize_i8 => visit_i8 deserialize_i16 => visit_i16 deserialize_i32 => visit_i32 deserialize_i64 => visit_i64
        deserialize_u8 => visit_u8 deserialize_u16 => visit_u16 deserialize_u32 => visit_u32 deserialize_u64 => visit_u64
        deserialize_f32 => visit_f32 deserialize_f64 => visit_f64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read counts")]
    struct Loan {
        reader: String,
        copies: Vec<Copy>,
        #[serde(default)]
        weeks: Option<u8>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only whether it can be read counts")]
    struct Copy {
        medium: Medium,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    enum Medium {
        Book,
        Film,
    }

    #[test]
    fn a_problem_names_the_field_in_plain_words() {
        let copies = json!([{"medium": "BOOK"}]);
        for (body, field, problem) in [
            (json!([]), "body", "must be an object"),
            (json!({"copies": copies}), "body", "reader is required"),
            (json!({"reader": 7, "copies": copies}), "reader", "must be text"),
            (json!({"reader": null, "copies": copies}), "reader", "must be text"),
            (json!({"reader": "ada", "copies": {}}), "copies", "must be a list"),
            (json!({"reader": "ada", "copies": [{"medium": "DISC"}]}), "copies[0].medium", "must be one of BOOK, FILM"),
            (json!({"reader": "ada", "copies": [{"medium": 1}]}), "copies[0].medium", "must be one of BOOK, FILM"),
            (json!({"reader": "ada", "copies": copies, "weeks": 2.5}), "weeks", "must be a whole number from 0 to 255"),
            (json!({"reader": "ada", "copies": copies, "weeks": -1}), "weeks", "must be a whole number from 0 to 255"),
            (json!({"reader": "ada", "copies": copies, "week": 1}), "week", "is not a known field"),
        ] {
            let detail = read_json::<Loan>(&body, "body").expect_err("refused");
            assert_eq!((detail.field.as_str(), detail.problem.as_str()), (field, problem), "{body}");
        }
        assert!(read_json::<Loan>(&json!({"reader": "ada", "copies": copies, "weeks": 2}), "body").is_ok());
        assert_eq!(read_json::<Value>(&copies, "body").expect("any"), copies);
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Filter {
        reader: Option<String>,
        weeks: Option<u8>,
        overdue: Option<bool>,
    }

    fn parameters(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn parameters_are_text_or_what_is_wanted() {
        let read = |all: &[(&str, &str)]| read_parameters::<Filter>(&parameters(all), "query");
        let filter = read(&[("reader", "7"), ("weeks", "7"), ("overdue", "true")]).expect("a filter");
        assert_eq!(filter, Filter { reader: Some("7".to_owned()), weeks: Some(7), overdue: Some(true) });
        let wrong = read(&[("weeks", "many")]).expect_err("refused");
        assert_eq!((wrong.field.as_str(), wrong.problem.as_str()), ("weeks", "must be a whole number from 0 to 255"));
        assert_eq!(read(&[("reader", "a"), ("reader", "b")]).expect_err("refused").problem, "reader appears twice");
        let map: HashMap<String, String> =
            read_parameters(&parameters(&[("a", "1"), ("a", "2")]), "query").expect("a map");
        assert_eq!(map["a"], "2");
    }
}
