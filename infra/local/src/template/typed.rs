//! Types of single properties, and the deserializer that names a wrong one by its path.

use super::error::{TemplateError, join};
use super::value::{Reference, Value, describe};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use yaml_serde::Value as Yaml;

/// Defines mappings with exactly these entries: those that are read, and those of AWS that are ignored because they mean
/// nothing on one machine. Any other entry is refused.
macro_rules! properties {
    ($($(#[$attribute:meta])* struct $name:ident { $($fields:tt)* } $(ignored { $($ignored:ident)* })?)*) => { $(
        $(#[$attribute])*
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "PascalCase", deny_unknown_fields)]
        #[allow(dead_code, non_snake_case, reason = "what is ignored, and what is checked and has one value")]
        pub(super) struct $name {
            $($($ignored: Option<serde::de::IgnoredAny>,)*)?
            $($fields)*
        }
    )* };
}

/// Defines texts with one allowed value.
macro_rules! only {
    ($($name:ident = $text:literal),*) => { $(
        #[derive(serde::Deserialize)]
        pub(super) enum $name {
            #[serde(rename = $text)]
            It,
        }
    )* };
}

pub(super) use {only, properties};

/// Reads an entry of the resolved tree.
pub(super) fn typed<T: DeserializeOwned>(path: &str, yaml: &Yaml) -> Result<T, TemplateError> {
    serde_path_to_error::deserialize(yaml)
        .map_err(|error| TemplateError::at(join(path, &error.path().to_string()), error.inner()))
}

/// A text without references to resources.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let unknown =
            |reference| format!("must be known from the parameters alone (got \"{value}\", where {reference} is not)");
        value.resolve(|_| None).map(Self).map_err(|reference| D::Error::custom(unknown(reference)))
    }
}

/// A whole number from `MIN` to `MAX`. CloudFormation takes a number or a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole<const MIN: u32, const MAX: u32>(pub(super) u32);

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let yaml = Yaml::deserialize(deserializer)?;
        let number = Value::read(&yaml).and_then(|value| value.to_string().parse().ok());
        let number = number.filter(|number| (MIN..=MAX).contains(number)).map(Self);
        number.ok_or_else(|| {
            D::Error::custom(format!("must be a whole number from {MIN} to {MAX} (got {})", describe(&yaml)))
        })
    }
}

/// `true` or `false`, also written as a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flag(pub(super) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let yaml = Yaml::deserialize(deserializer)?;
        let flag = Value::read(&yaml).and_then(|value| value.to_string().parse().ok()).map(Self);
        flag.ok_or_else(|| D::Error::custom(format!("must be true or false (got {})", describe(&yaml))))
    }
}

/// One item or a list of them, as policies take it.
#[derive(Debug)]
pub(super) struct OneOrMany<T>(pub(super) Vec<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = match Yaml::deserialize(deserializer)? {
            Yaml::Sequence(items) => items,
            one => vec![one],
        };
        let items = items.into_iter().map(yaml_serde::from_value);
        items.collect::<Result<_, _>>().map(Self).map_err(D::Error::custom)
    }
}

/// The ARN of a queue, as the queue's logical id.
pub(super) fn queue_arn<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    referred(deserializer, "the Arn of a queue", |reference| match reference {
        Reference::QueueArn(queue) => Some(queue),
        _ => None,
    })
}

/// The ARN of a table's stream, as the table's logical id.
pub(super) fn stream_arn<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    referred(deserializer, "the StreamArn of a table", |reference| match reference {
        Reference::StreamArn(table) => Some(table),
        _ => None,
    })
}

/// The ARN of a role, as the role's logical id.
pub(super) fn role_arn<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let role = referred(deserializer, "the Arn of a role", |reference| match reference {
        Reference::Other { resource, attribute: Some(attribute) } if attribute == "Arn" => Some(resource),
        _ => None,
    });
    role.map(Some)
}

fn referred<'de, D: Deserializer<'de>>(
    deserializer: D,
    expected: &str,
    id: impl Fn(&Reference) -> Option<&String>,
) -> Result<String, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let problem = || D::Error::custom(format!("must be {expected} of this template (got \"{value}\")"));
    value.sole_reference().and_then(id).cloned().ok_or_else(problem)
}

/// What an integration invokes, as the logical id of the function.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Invocation(pub(super) String);

impl TryFrom<Value> for Invocation {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value.around_reference() {
            Some((before, Reference::Other { resource, attribute: Some(attribute) }, "/invocations"))
                if before.ends_with(":lambda:path/2015-03-31/functions/") && attribute == "Arn" =>
            {
                Ok(Self(resource.clone()))
            }
            _ => Err(format!("must be the invocation of a function of this template (got \"{value}\")")),
        }
    }
}
