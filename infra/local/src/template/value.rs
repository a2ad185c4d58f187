//! A text of the template whose references are still open, since a queue's URL exists only once the
//! queue does.

use std::fmt;

/// A text with references in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Value(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Reference(Reference),
}

/// Something of a resource, by the resource's logical id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Something of a resource that is no table and no queue.
    Other {
        /// The logical id.
        resource: String,
        /// The attribute, unless it is what `!Ref` gives.
        attribute: Option<String>,
    },
}

impl Value {
    /// The text, with what `known` says for each reference, or the first that it does not know.
    ///
    /// # Errors
    /// The reference for which `known` has no answer.
    pub fn resolve(&self, known: impl Fn(&Reference) -> Option<String>) -> Result<String, &Reference> {
        let texts = self.0.iter().map(|part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Reference(reference) => known(reference).ok_or(reference),
        });
        texts.collect()
    }

    /// The reference, when the whole text is one.
    pub fn sole_reference(&self) -> Option<&Reference> {
        match self.0.as_slice() {
            [Part::Reference(reference)] => Some(reference),
            _ => None,
        }
    }

    /// The reference and the texts around it, when there is just one.
    pub(super) fn around_reference(&self) -> Option<(&str, &Reference, &str)> {
        match self.0.as_slice() {
            [Part::Reference(reference)] => Some(("", reference, "")),
            [Part::Text(before), Part::Reference(reference)] => Some((before, reference, "")),
            [Part::Text(before), Part::Reference(reference), Part::Text(after)] => Some((before, reference, after)),
            _ => None,
        }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        let mut value = Self::default();
        value.push_text(&text.into());
        value
    }

    pub(super) fn reference(reference: Reference) -> Self {
        Self(vec![Part::Reference(reference)])
    }

    /// Texts that meet are one text, so that equal values compare as equal.
    pub(super) fn push_text(&mut self, more: &str) {
        match self.0.last_mut() {
            _ if more.is_empty() => {}
            Some(Part::Text(text)) => text.push_str(more),
            _ => self.0.push(Part::Text(more.to_owned())),
        }
    }

    pub(super) fn push(&mut self, more: Self) {
        for part in more.0 {
            match part {
                Part::Text(text) => self.push_text(&text),
                reference => self.0.push(reference),
            }
        }
    }
}

/// As it would stand in a `!Sub`.
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
            Self::TableName(id) | Self::QueueUrl(id) => f.write_str(id),
            Self::TableArn(id) | Self::QueueArn(id) => write!(f, "{id}.Arn"),
            Self::StreamArn(id) => write!(f, "{id}.StreamArn"),
            Self::QueueName(id) => write!(f, "{id}.QueueName"),
            Self::Other { resource, attribute: Some(attribute) } => write!(f, "{resource}.{attribute}"),
            Self::Other { resource, attribute: None } => f.write_str(resource),
        }
    }
}
