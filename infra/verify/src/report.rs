//! The result of a run.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::finding::Finding;

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The violations.
    pub findings: Vec<Finding>,
    /// Suspects that were too many to check again.
    pub not_looked_at: u64,
    /// Units whose stock changed during every check.
    pub undecided: Vec<String>,
    /// The rows of each table.
    pub rows: BTreeMap<String, u64>,
    /// What waits for an operator: open dead letters, failed outbox entries.
    pub waiting: u64,
    /// What is unfinished and not overdue.
    pub under_way: u64,
    /// Charged payments and the price of completed orders, by currency.
    pub money: BTreeMap<String, Money>,
}

/// The result in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All invariants hold.
    Holds,
    /// There are violations.
    Violated,
    /// There are no violations, but not every row could be decided.
    Undecided,
}

/// Money of one currency, in minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Money {
    /// From payments.
    pub charged: u128,
    /// From orders.
    pub completed: u128,
}

impl Report {
    /// The result in one word.
    pub fn verdict(&self) -> Verdict {
        match (self.violations(), self.undecided.len()) {
            (0, 0) => Verdict::Holds,
            (0, _) => Verdict::Undecided,
            _ => Verdict::Violated,
        }
    }

    /// Whether all invariants hold and nothing is undecided.
    pub fn holds(&self) -> bool {
        self.verdict() == Verdict::Holds
    }

    /// A suspect that was not checked again counts as a violation.
    fn violations(&self) -> u64 {
        self.findings.len() as u64 + self.not_looked_at
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for unit in &self.undecided {
            writeln!(
                f,
                "undecided: the stock of {unit} changed during every check; run verify again at a quieter time"
            )?;
        }
        if self.not_looked_at > 0 {
            writeln!(f, "and {} more suspects that were not checked again", self.not_looked_at)?;
        }
        for (currency, Money { charged, completed }) in &self.money {
            writeln!(f, "{currency}: charged {charged}, completed {completed}")?;
        }
        let (rows, tables) = (self.rows.values().sum::<u64>(), self.rows.len());
        write!(
            f,
            "{rows} rows in {tables} tables, {} in progress, {} waiting for an operator: ",
            self.under_way, self.waiting
        )?;
        match (self.verdict(), self.violations()) {
            (Verdict::Holds, _) => f.write_str("everything holds"),
            (Verdict::Undecided, _) => write!(f, "no violations, but {} undecided", self.undecided.len()),
            (Verdict::Violated, 1) => f.write_str("1 violation"),
            (Verdict::Violated, many) => write!(f, "{many} violations"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecided_unit_is_neither_success_nor_violation() {
        let undecided = Report { undecided: vec!["unit-3".to_owned()], ..Report::default() };
        assert_eq!((undecided.verdict(), undecided.holds()), (Verdict::Undecided, false));
        assert_eq!(
            undecided.to_string(),
            "undecided: the stock of unit-3 changed during every check; run verify again at a quieter time\n\
             0 rows in 0 tables, 0 in progress, 0 waiting for an operator: no violations, but 1 undecided"
        );
        let both = Report { not_looked_at: 1, ..undecided };
        assert_eq!(both.verdict(), Verdict::Violated);
        assert!(both.to_string().ends_with(": 1 violation"), "{both}");
        assert!(Report::default().holds());
    }
}
