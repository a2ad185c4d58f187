//! What the ledger says when it can say neither `Committed` nor `Raced`.

/// Why an operation did not come to an end. Nothing was half done.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Others kept changing the same items for as long as we were willing to try.
    #[error("contended after {attempts} attempts")]
    Contended {
        /// How often it was tried.
        attempts: u32,
    },
    /// DynamoDB could not be reached, or throttled, for as long as we were willing to try.
    #[error("unavailable after {attempts} attempts: {reason}")]
    Unavailable {
        /// How often it was tried.
        attempts: u32,
        /// What the last attempt met.
        reason: String,
    },
    /// DynamoDB refused in a way that trying again cannot mend.
    #[error("refused: {reason}")]
    Refused {
        /// The code and message of the refusal.
        reason: String,
    },
    /// What is stored cannot be read.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// What was to be stored cannot be written as an item or as JSON.
    #[error("cannot be written: {0}")]
    Unwritable(String),
}

/// An item that is not what this version wrote.
#[derive(Debug, thiserror::Error)]
#[error("corrupt item in {table}: {problem}")]
pub struct Corrupt {
    /// The table.
    pub table: String,
    /// What is wrong with it; never a value of the item.
    pub problem: String,
}

impl Corrupt {
    pub(crate) fn new(table: &str, error: &impl std::fmt::Display) -> Self {
        Self { table: table.to_owned(), problem: without_values(&error.to_string()) }
    }
}

impl From<serde_json::Error> for LedgerError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable(without_values(&error.to_string()))
    }
}

/// What an error of serde says, up to where it begins to quote. The name of a missing field is no value.
fn without_values(problem: &str) -> String {
    if problem.starts_with("missing field") {
        return problem.to_owned();
    }
    problem.split(['`', '"']).next().unwrap_or_default().trim_end().to_owned()
}

/// What an error and its causes say of themselves. Not their `Debug`, which may show a request or an answer whole.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_told_without_the_values_that_it_is_about() {
        for (problem, told) in [
            ("missing field `status`", "missing field `status`"),
            ("unknown variant `alice@example.com`, expected `ACTIVE`", "unknown variant"),
            ("invalid type: string \"alice\", expected u64", "invalid type: string"),
        ] {
            assert_eq!(without_values(problem), told);
        }
    }
}
