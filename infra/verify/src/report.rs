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

/// Money of one currency, in minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Money {
    /// What payments say.
    pub charged: u128,
    /// What orders say.
    pub completed: u128,
}

impl Report {
    /// Whether everything holds that was looked at.
    pub fn holds(&self) -> bool {
        self.findings.is_empty() && self.not_looked_at == 0
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
        match self.findings.len() as u64 + self.not_looked_at {
            0 => f.write_str("everything holds"),
            1 => f.write_str("1 violation"),
            many => write!(f, "{many} violations"),
        }
    }
}
