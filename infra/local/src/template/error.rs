//! Errors that name the entry of the template by its path.

use super::value::Reference;
use std::fmt::Display;

/// Why a template was refused.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Also if a mapping has the same key twice.
    #[error("the template is not valid YAML: {0}")]
    Yaml(#[from] yaml_serde::Error),
    #[error("{path}: {problem}")]
    Entry {
        /// For example `Resources.EventsTable.Properties.KeySchema[0]`.
        path: String,
        problem: String,
    },
}

impl TemplateError {
    pub(super) fn at(path: impl Into<String>, problem: impl Display) -> Self {
        Self::Entry { path: path.into(), problem: problem.to_string() }
    }

    /// An error without a path. Callers add it with [`Self::within`].
    pub(super) fn here(problem: impl Display) -> Self {
        Self::at("", problem)
    }

    /// The same error one level up.
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

/// A variable refers to a resource that does not exist locally.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{function}: variable {variable} refers to {reference}, which does not exist locally; set {variable}")]
pub struct UnresolvedVariable {
    pub function: String,
    pub variable: String,
    pub reference: Reference,
}
