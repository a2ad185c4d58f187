//! A text with references that are resolved later: a queue's URL exists only after the queue was created.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use yaml_serde::Value as Yaml;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Value(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Text(String),
    Reference(Reference),
}

/// A text with references in the resolved tree, as `!Open [...]`. Other texts stay plain.
#[derive(Serialize, Deserialize)]
enum Marker {
    Open(Vec<Part>),
}

/// A reference to a resource, by logical id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reference {
    /// `!Ref Table`.
    TableName(String),
    /// `!GetAtt Table.Arn`.
    TableArn(String),
    /// `!GetAtt Table.StreamArn`.
    StreamArn(String),
    /// `!Ref Queue`.
    QueueUrl(String),
    /// `!GetAtt Queue.Arn`.
    QueueArn(String),
    /// `!GetAtt Queue.QueueName`.
    QueueName(String),
    /// `!Ref Secret`.
    SecretArn(String),
    Other {
        resource: String,
        /// `None` for `!Ref`.
        attribute: Option<String>,
    },
}

impl Value {
    /// The text with each reference replaced by what `known` returns, or the first reference that is not known.
    pub fn resolve(&self, known: impl Fn(&Reference) -> Option<String>) -> Result<String, &Reference> {
        let texts = self.0.iter().map(|part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Reference(reference) => known(reference).ok_or(reference),
        });
        texts.collect()
    }

    /// The reference, if the whole text is one.
    pub fn sole_reference(&self) -> Option<&Reference> {
        match self.0.as_slice() {
            [Part::Reference(reference)] => Some(reference),
            _ => None,
        }
    }

    /// The only reference, and the texts before and after it.
    pub(super) fn around_reference(&self) -> Option<(&str, &Reference, &str)> {
        match self.0.as_slice() {
            [Part::Reference(reference)] => Some(("", reference, "")),
            [Part::Text(before), Part::Reference(reference)] => Some((before, reference, "")),
            [Part::Text(before), Part::Reference(reference), Part::Text(after)] => Some((before, reference, after)),
            _ => None,
        }
    }

    /// Reads an entry of the resolved tree. `None` for a list or a mapping.
    pub(super) fn read(yaml: &Yaml) -> Option<Self> {
        match yaml {
            Yaml::String(text) => Some(text.as_str().into()),
            // CloudFormation turns numbers and flags into texts.
            Yaml::Number(number) => Some(number.to_string().as_str().into()),
            Yaml::Bool(flag) => Some(flag.to_string().as_str().into()),
            Yaml::Tagged(_) => yaml_serde::from_value(yaml.clone()).ok().map(|Marker::Open(parts)| Self(parts)),
            Yaml::Null | Yaml::Sequence(_) | Yaml::Mapping(_) => None,
        }
    }

    pub(super) fn into_yaml(self) -> Result<Yaml, yaml_serde::Error> {
        match self.resolve(|_| None) {
            Ok(text) => Ok(Yaml::String(text)),
            Err(_) => yaml_serde::to_value(Marker::Open(self.0)),
        }
    }

    pub(super) fn push(&mut self, more: Self) {
        for part in more.0 {
            // Adjacent texts are merged, so equal values compare equal.
            match (part, self.0.last_mut()) {
                (Part::Text(more), Some(Part::Text(text))) => text.push_str(&more),
                (part, _) => self.0.push(part),
            }
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(if text.is_empty() { Vec::new() } else { vec![Part::Text(text.to_owned())] })
    }
}

impl From<Reference> for Value {
    fn from(reference: Reference) -> Self {
        Self(vec![Part::Reference(reference)])
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let yaml = Yaml::deserialize(deserializer)?;
        Self::read(&yaml).ok_or_else(|| D::Error::custom(format!("must be a text (got {})", describe(&yaml))))
    }
}

/// An entry, for an error message.
pub(super) fn describe(yaml: &Yaml) -> String {
    match (Value::read(yaml), yaml) {
        (Some(text), Yaml::String(_) | Yaml::Tagged(_)) => format!("{:?}", text.to_string()),
        (Some(scalar), _) => scalar.to_string(),
        (None, Yaml::Sequence(_)) => "a list".to_owned(),
        (None, Yaml::Mapping(_)) => "a mapping".to_owned(),
        (None, Yaml::Tagged(tagged)) => tagged.tag.to_string(),
        (None, _) => "nothing".to_owned(),
    }
}

/// As in a `!Sub`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Reference(reference) => write!(f, "${{{reference}}}"),
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TableName(id) | Self::QueueUrl(id) | Self::SecretArn(id) => f.write_str(id),
            Self::TableArn(id) | Self::QueueArn(id) => write!(f, "{id}.Arn"),
            Self::StreamArn(id) => write!(f, "{id}.StreamArn"),
            Self::QueueName(id) => write!(f, "{id}.QueueName"),
            Self::Other { resource, attribute: Some(attribute) } => write!(f, "{resource}.{attribute}"),
            Self::Other { resource, attribute: None } => f.write_str(resource),
        }
    }
}
