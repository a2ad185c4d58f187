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

impl From<serde_json::Error> for LedgerError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable(error.to_string())
    }
}
