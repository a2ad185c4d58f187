//! What a check of a row reads and reports.

use std::collections::BTreeMap;

use domain::Time;
use ledger::survey::{Seen, Survey, Unreadable, Whole};
use ledger::{Found, Key, LedgerError};

use crate::finding::Invariant;
use crate::report::Money;
use crate::terms::Terms;

/// The check of one table: a row and the related rows that it is checked against.
pub(crate) trait Check: Sized {
    type Row;

    fn table(survey: &Survey) -> &Whole<Self::Row>;

    /// Reads the related rows, consistently. The only part that does I/O.
    async fn beside(survey: &Survey, rows: Vec<Seen<Self::Row>>) -> Result<Vec<(Key, Self)>, LedgerError>;

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes);
}

/// What the checks of rows report.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub broken: Vec<Broken>,
    /// Waiting for an operator.
    pub waiting: u64,
    /// Unfinished and not overdue.
    pub in_progress: u64,
    pub money: BTreeMap<String, Money>,
}

/// A suspected violation.
#[derive(Debug)]
pub(crate) struct Broken {
    pub invariant: Invariant,
    pub expected: String,
    pub found: String,
}

impl Notes {
    pub fn broken(&mut self, invariant: Invariant, expected: impl Into<String>, found: impl Into<String>) {
        self.broken.push(Broken { invariant, expected: expected.into(), found: found.into() });
    }
}

/// A related row. One that cannot be read is reported by its own table's check.
#[derive(Debug, Default)]
pub(crate) enum Beside<T> {
    #[default]
    Absent,
    Unreadable,
    Row(T),
}

impl<T> Beside<T> {
    pub fn of(table: &Whole<T>, found: &Found, key: &Key) -> Self {
        match table.among(found, key) {
            None => Self::Absent,
            Some(Err(Unreadable { .. })) => Self::Unreadable,
            Some(Ok(seen)) => Self::Row(seen.row),
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Beside<U> {
        match self {
            Self::Absent => Beside::Absent,
            Self::Unreadable => Beside::Unreadable,
            Self::Row(row) => Beside::Row(change(row)),
        }
    }

    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub fn row(&self) -> Option<&T> {
        match self {
            Self::Row(row) => Some(row),
            Self::Absent | Self::Unreadable => None,
        }
    }
}
