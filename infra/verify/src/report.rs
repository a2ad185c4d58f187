//! What a run came to.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::finding::Finding;

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What does not hold.
    pub findings: Vec<Finding>,
    /// So many suspects more than could be looked at again.
    pub not_looked_at: u64,
    /// Units whose stock moved whenever it was looked at.
    pub undecided: Vec<String>,
    /// How many rows each table has.
    pub rows: BTreeMap<String, u64>,
    /// How much waits for an operator: open dead letters, outbox entries that were given up.
    pub waiting: u64,
    /// How much is not at its end, and in time.
    pub under_way: u64,
    /// What is charged, and what completed orders cost, by currency.
    pub money: BTreeMap<String, Money>,
}

/// What a run comes to, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Everything holds.
    Holds,
    /// Something does not.
    Violated,
    /// Nothing was found, but not everything could be judged.
    Undecided,
}

/// Money of one currency, in minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Money {
    /// What payments say.
    pub charged: u128,
    /// What orders say.
    pub completed: u128,
}

impl Report {
    /// What it comes to.
    pub fn verdict(&self) -> Verdict {
        match (self.violations(), self.undecided.len()) {
            (0, 0) => Verdict::Holds,
            (0, _) => Verdict::Undecided,
            _ => Verdict::Violated,
        }
    }

    /// Whether everything was judged, and holds.
    pub fn holds(&self) -> bool {
        self.verdict() == Verdict::Holds
    }

    /// What was not looked at again looked wrong the first time.
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
            writeln!(f, "undecided: {unit} moved whenever it was looked at; look again when it is less busy")?;
        }
        if self.not_looked_at > 0 {
            writeln!(f, "and {} more that were not looked at again", self.not_looked_at)?;
        }
        for (currency, Money { charged, completed }) in &self.money {
            writeln!(f, "{currency}: charged {charged}, completed {completed}")?;
        }
        let (rows, tables) = (self.rows.values().sum::<u64>(), self.rows.len());
        write!(f, "{rows} rows in {tables} tables, {} under way, {} for an operator: ", self.under_way, self.waiting)?;
        match (self.verdict(), self.violations()) {
            (Verdict::Holds, _) => f.write_str("everything holds"),
            (Verdict::Undecided, _) => write!(f, "nothing wrong, but {} undecided", self.undecided.len()),
            (Verdict::Violated, 1) => f.write_str("1 violation"),
            (Verdict::Violated, many) => write!(f, "{many} violations"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_could_judge_does_not_hold_and_is_no_violation() {
        let undecided = Report { undecided: vec!["unit-3".to_owned()], ..Report::default() };
        assert_eq!((undecided.verdict(), undecided.holds()), (Verdict::Undecided, false));
        assert_eq!(
            undecided.to_string(),
            "undecided: unit-3 moved whenever it was looked at; look again when it is less busy\n\
             0 rows in 0 tables, 0 under way, 0 for an operator: nothing wrong, but 1 undecided"
        );
        let both = Report { not_looked_at: 1, ..undecided };
        assert_eq!(both.verdict(), Verdict::Violated);
        assert!(both.to_string().ends_with(": 1 violation"), "{both}");
        assert!(Report::default().holds());
    }
}
