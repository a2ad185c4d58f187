//! Errors that name the entry of the template by its path.

use super::value::Reference;
use std::fmt::Display;

/// Why a template was refused.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The text is not YAML, or a mapping has the same key twice.
    #[error("the template is not valid YAML: {0}")]
    Yaml(#[from] yaml_serde::Error),
    /// One entry is wrong.
    #[error("{path}: {problem}")]
    Entry {
        /// Where, as `Resources.EventsTable.Properties.KeySchema[0]`.
        path: String,
        /// What is wrong there.
        problem: String,
    },
}

impl TemplateError {
    pub(super) fn at(path: impl Into<String>, problem: impl Display) -> Self {
        Self::Entry { path: path.into(), problem: problem.to_string() }
    }

    /// An error whose path is added by the callers, from the inside out.
    pub(super) fn here(problem: impl Display) -> Self {
        Self::at("", problem)
    }

    /// The same error, seen from one level above.
    pub(super) fn within(self, segment: &str) -> Self {
        match self {
            Self::Entry { path, problem } => Self::Entry { path: join(segment, &path), problem },
            yaml @ Self::Yaml(_) => yaml,
        }
    }
}

pub(super) fn join(path: &str, below: &str) -> String {
    match below {
        "" | "." => path.to_owned(),
        _ if below.starts_with('[') => format!("{path}{below}"),
        _ => format!("{path}.{below}"),
    }
}

/// A function's variable refers to something that does not exist on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{function}: variable {variable} refers to {reference}, which does not exist locally: set {variable}")]
pub struct UnresolvedVariable {
    /// The logical id of the function.
    pub function: String,
    /// The name of the variable.
    pub variable: String,
    /// What it refers to.
    pub reference: Reference,
}
