//! What can be wrong with a template, said so that a person finds the place.

use super::value::Reference;
use crate::mapping::{FilterError, ScheduleError};

/// Why a template was refused.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The text is not YAML, or a key stands in it twice.
    #[error("the template is not YAML: {0}")]
    Yaml(#[from] yaml_serde::Error),
    /// One entry is wrong.
    #[error("{path}: {problem}")]
    Entry {
        /// Where, as `Resources.EventsTable.Properties.KeySchema[0]`.
        path: String,
        /// What is wrong there.
        problem: Problem,
    },
}

/// What is wrong with one entry.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It has to be there and is not.
    #[error("is missing")]
    Missing,
    /// It holds something else than it should.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What belongs there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// No such property, most often a misspelt one.
    #[error("unknown property")]
    UnknownProperty,
    /// AWS knows it, and the local host does not do it.
    #[error("is not supported by the local host")]
    Unsupported,
    /// A function such as `Fn::Join`.
    #[error("expected Ref, GetAtt or Sub, found the function {0}")]
    UnknownFunction(String),
    /// A condition that is not there, or that stands within itself.
    #[error("refers to the condition {0}, which is not there, or stands within itself")]
    UnknownCondition(String),
    /// A reference to something that is not there.
    #[error("refers to {0}, which is neither a parameter nor a resource of this template")]
    UnknownReference(String),
    /// A reference to an attribute that the resource does not have.
    #[error("refers to {attribute} of {resource}, which has no such attribute")]
    UnknownAttribute {
        /// The logical id of the resource.
        resource: String,
        /// The attribute asked for.
        attribute: String,
    },
    /// A parameter without a default, for which no value was handed in.
    #[error("refers to {0}, which has no value: it has no default and none was handed in")]
    NoValue(String),
    /// A value was handed in for a parameter that is not there.
    #[error("a value was handed in, and the template has no such parameter")]
    UnknownParameter,
    /// Two resources of a kind have the same name.
    #[error("is named {name}, as is {taken_by}")]
    NameTaken {
        /// The name of both.
        name: String,
        /// The logical id of the other.
        taken_by: String,
    },
    /// A key schema and the attribute definitions do not agree.
    #[error("{0} has to stand both in a key schema and in the attribute definitions")]
    KeyAttribute(String),
    /// A mapping of a table that has no stream.
    #[error("{0} has no stream: its StreamSpecification is missing")]
    NoStream(String),
    /// Messages would come again while they are still worked on; Lambda refuses such a mapping.
    #[error("{queue} hides a message for {visibility} s, which is below the function's timeout of {timeout} s")]
    VisibilityBelowTimeout {
        /// The logical id of the queue.
        queue: String,
        /// Its visibility timeout in seconds.
        visibility: u32,
        /// The timeout of the function in seconds.
        timeout: u32,
    },
    /// Two routes of a WebSocket API have the same key.
    #[error("the route {0} is there already")]
    RouteTaken(&'static str),
    /// A WebSocket API lacks a route that it cannot do without.
    #[error("has no route {0}")]
    NoRoute(&'static str),
    /// A WebSocket API that nobody can reach.
    #[error("has no stage")]
    NoStage,
    /// A filter pattern is wrong.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A schedule expression is wrong.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The input of a schedule is not JSON.
    #[error("expected JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// A variable that a function needs, and that refers to something which does not exist locally.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{function}: the variable {variable} needs {reference}, which is not known here: override it by name")]
pub struct UnresolvedVariable {
    /// The logical id of the function.
    pub function: String,
    /// The name of the variable.
    pub variable: String,
    /// What it refers to.
    pub reference: Reference,
}
