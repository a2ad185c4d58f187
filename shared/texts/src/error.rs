//! Errors of templates and of rendering. They contain no values, because they are logged.

use domain::Audience;
use minijinja::ErrorKind;

/// A template is missing or cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("template {name}: {problem}")]
pub struct BadTemplate {
    name: String,
    problem: String,
}

impl BadTemplate {
    pub(crate) fn new(name: &str, problem: impl ToString) -> Self {
        Self { name: name.to_owned(), problem: problem.to_string() }
    }
}

/// A text cannot be rendered. A retry fails too.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The event lacks a variable of the template, or it is null.
    #[error("template {template}: variable {variable} is missing")]
    MissingVariable {
        /// The template's name.
        template: String,
        /// The variable's name.
        variable: String,
    },
    /// A variable has the wrong type or format.
    #[error("template {template} line {line}: {problem}")]
    Unfit {
        /// The template's name.
        template: String,
        /// The line in the template.
        line: usize,
        /// What was expected.
        problem: String,
    },
    /// No route sends this kind of text.
    #[error("no {kind} template of {event_type} for {audience}")]
    NoTemplate {
        /// `inbox` or `SMS`.
        kind: &'static str,
        /// The event type.
        event_type: String,
        /// The audience.
        audience: Audience,
    },
}

/// What a filter expected.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Expected(pub(crate) &'static str);

impl From<Expected> for minijinja::Error {
    fn from(expected: Expected) -> Self {
        Self::from(ErrorKind::InvalidOperation).with_source(expected)
    }
}

impl RenderError {
    /// Converts minijinja's error without its values: the undefined variable, the line, what was expected.
    pub(crate) fn of(template: &str, error: &minijinja::Error) -> Self {
        let template = template.to_owned();
        if error.kind() == ErrorKind::UndefinedError {
            let quoted = error.detail().and_then(|detail| detail.split('`').nth(1));
            return Self::MissingVariable { template, variable: quoted.unwrap_or("(unnamed)").to_owned() };
        }
        let expected = std::error::Error::source(error).and_then(|source| source.downcast_ref::<Expected>());
        let problem = expected.map_or_else(|| error.kind().to_string(), Expected::to_string);
        Self::Unfit { template, line: error.line().unwrap_or(1), problem }
    }
}
