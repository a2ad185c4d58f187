//! What a check is: what a row is judged with, and what is noted of it.

use std::collections::BTreeMap;

use domain::Time;
use ledger::survey::{Seen, Survey, Unreadable, Whole};
use ledger::{Found, Key, LedgerError};

use crate::finding::Invariant;
use crate::report::Money;
use crate::terms::Terms;

/// The check of one table: a row of it with everything beside it that the row is judged by.
pub(crate) trait Check: Sized {
    /// The table's rows.
    type Row;

    /// The table.
    fn table(survey: &Survey) -> &Whole<Self::Row>;

    /// Reads what stands beside these rows, consistently. The only part that does I/O.
    async fn beside(survey: &Survey, rows: Vec<Seen<Self::Row>>) -> Result<Vec<(Key, Self)>, LedgerError>;

    /// Judges.
    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes);
}

/// What was noted of one row.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub broken: Vec<Broken>,
    /// An operator's case.
    pub waiting: u64,
    /// Not at its end, and in time.
    pub under_way: u64,
    pub money: BTreeMap<String, Money>,
}

/// Something that does not hold, until it was looked at again.
#[derive(Debug)]
pub(crate) struct Broken {
    pub invariant: Invariant,
    pub expected: String,
    pub found: String,
}

impl Notes {
    /// This does not hold.
    pub fn broken(&mut self, invariant: Invariant, expected: impl Into<String>, found: impl Into<String>) {
        self.broken.push(Broken { invariant, expected: expected.into(), found: found.into() });
    }
}

/// What stands beside a row. One that cannot be read is there: its own table's check says what is wrong with it.
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
