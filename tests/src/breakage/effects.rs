//! What a use case left: rows by table and status, amounts that must add up, messages, and what providers have done.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// How many there are of each: `entitlements`, `sends SENT`, `stock available`, `queue payment`, `EMAIL`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects(BTreeMap<String, i64>);

/// Amounts that a second effect would change, by table. Versions of sends and outbox entries are not among them: each
/// attempt may have one; nor are those of stock, of which each put is a new one though it says the same.
const AMOUNTS: [(&str, &[&str]); 6] = [
    ("entitlements", &["version"]),
    ("reservations", &["version"]),
    ("orders", &["version"]),
    ("payments", &["amount"]),
    ("stock", &["available", "reserved", "sold"]),
    ("recipients", &["version"]),
];

impl Effects {
    /// Counts the rows of a table, as DynamoDB writes them in JSON.
    pub fn add_rows(&mut self, table: &str, rows: &[Value]) {
        for row in rows {
            let name = match row["status"]["S"].as_str() {
                Some(status) => format!("{table} {status}"),
                None => table.to_owned(),
            };
            self.add(name, 1);
            let amounts = AMOUNTS.iter().filter(|(of, _)| *of == table).flat_map(|(_, amounts)| *amounts);
            for amount in amounts {
                let value = row[amount]["N"].as_str().and_then(|number| number.parse().ok()).unwrap_or_default();
                self.add(format!("{table} {amount} in all"), value);
            }
        }
    }

    /// Counts different messages: one more of the same is no effect.
    pub fn add_messages(&mut self, queue: &str, messages: &BTreeSet<String>) {
        self.add(format!("queue {queue}"), i64::try_from(messages.len()).unwrap_or(i64::MAX));
    }

    /// Counts something that was done.
    pub fn add(&mut self, name: String, count: i64) {
        if count != 0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// How many there are of this.
    pub fn of(&self, name: &str) -> i64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// The same with another count of this.
    #[must_use]
    pub fn with(&self, name: &str, count: i64) -> Self {
        let mut effects = self.clone();
        effects.0.insert(name.to_owned(), count);
        effects.0.retain(|_, count| *count != 0);
        effects
    }

    /// How many there are in all: rows, messages, and what providers did.
    pub fn total(&self) -> i64 {
        self.0.iter().filter(|(name, _)| !name.ends_with(" in all")).map(|(_, count)| count).sum()
    }

    /// What differs from these, in words: seen and expected.
    pub fn differences(&self, expected: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(expected.0.keys()).collect();
        let differs = names.into_iter().filter(|name| self.of(name) != expected.of(name));
        differs.map(|name| format!("{name}: {} and not {}", self.of(name), expected.of(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_second_row_a_second_message_and_a_changed_amount_are_seen() {
        let once = || {
            let mut effects = Effects::default();
            let stock = json!({"available": {"N": "7"}, "reserved": {"N": "3"}, "version": {"N": "2"}});
            effects.add_rows("stock", &[stock]);
            effects.add_rows("sends", &[json!({"status": {"S": "SENT"}, "version": {"N": "3"}})]);
            effects.add_messages("payment", &["e-1".to_owned()].into());
            effects
        };
        assert_eq!(once().total(), 3);
        let mut again = once();
        again.add_rows("sends", &[json!({"status": {"S": "SENT"}, "version": {"N": "9"}})]);
        assert_eq!(again.differences(&once()), ["sends SENT: 2 and not 1"]);
        let taken_twice = once().with("stock available in all", 4);
        assert_eq!(taken_twice.differences(&once()), ["stock available in all: 4 and not 7"]);
    }
}
