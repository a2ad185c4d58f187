//! What a use case left: rows by table and status, what matters of their content, amounts that must add up, messages, and
//! what providers have done.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// How many there are of each: `entitlements`, `sends SENT`, `stock available in all`, `members member_of = …`, `queue
/// payment`, `EMAIL`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects(BTreeMap<String, i64>);

/// Amounts that a second effect would change, by table. Versions of sends and outbox entries are not among them: each
/// attempt may have one; nor are those of stock, of which each put is a new one though it says the same, nor the revisions
/// of recipients, which begin with the time.
const AMOUNTS: [(&str, &[&str]); 6] = [
    ("entitlements", &["version"]),
    ("reservations", &["version"]),
    ("orders", &["version", "total.amount"]),
    ("payments", &["version", "total.amount"]),
    ("holds", &["version"]),
    ("stock", &["available", "reserved", "sold"]),
];

/// Content that a lost or misplaced effect would leave as it was, by table: what a row says beside its status. Times and
/// ids that are drawn are not among it: they are others in each run. Of what ends with `?` only that it is there counts.
const CONTENT: [(&str, &[&str]); 13] = [
    ("connections", &["recipient"]),
    ("dead-letters", &["queue", "event_type"]),
    ("event-notifications", &["audience", "group", "read_by.user_id", "handled_by.action_type"]),
    ("events", &["event_type"]),
    ("group-reads", &["audience_group"]),
    ("idempotency-keys", &["status"]),
    ("inboxes", &["recipient"]),
    ("members", &["member_of", "user_id"]),
    ("notifications", &["recipient", "read_at?"]),
    ("payments", &["refund_wanted"]),
    ("processed", &["consumer"]),
    ("recipients", &["preferences", "push_tokens", "restaurant_id", "suppressed"]),
    ("sends", &["channel"]),
];

impl Effects {
    /// Counts the rows of a table, as DynamoDB writes them in JSON.
    pub fn add_rows(&mut self, table: &str, rows: &[Value]) {
        let of = |known: &[(&str, &'static [&'static str])]| {
            let known = known.iter().filter(|(of, _)| *of == table);
            known.flat_map(|(_, attributes)| *attributes).copied().collect::<Vec<_>>()
        };
        let (amounts, content) = (of(&AMOUNTS), of(&CONTENT));
        for row in rows {
            let name = match row["status"]["S"].as_str() {
                Some(status) => format!("{table} {status}"),
                None => table.to_owned(),
            };
            self.add(name, 1);
            for amount in &amounts {
                let value = at(row, amount).and_then(|value| plain(value).parse().ok()).unwrap_or_default();
                self.add(format!("{table} {amount} in all"), value);
            }
            for attribute in &content {
                let (name, is_set) = attribute.strip_suffix('?').map_or((*attribute, false), |name| (name, true));
                if let Some(value) = at(row, name) {
                    let value = if is_set { "set".to_owned() } else { plain(value) };
                    self.add(format!("{table} {name} = {value}"), 1);
                }
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

    /// The same without what the rows of this table say: their count alone.
    #[must_use]
    pub fn without_content(&self, table: &str) -> Self {
        let is_content = |name: &str| name.contains(" = ") && name.split(' ').next() == Some(table);
        Self(self.0.iter().filter(|(name, _)| !is_content(name)).map(|(name, count)| (name.clone(), *count)).collect())
    }

    /// How many there are in all: rows, messages, and what providers did.
    pub fn total(&self) -> i64 {
        let is_counted = |name: &str| !name.ends_with(" in all") && !name.contains(" = ");
        self.0.iter().filter(|(name, _)| is_counted(name)).map(|(_, count)| count).sum()
    }

    /// What differs from these, in words: seen and expected.
    pub fn differences(&self, expected: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(expected.0.keys()).collect();
        let differs = names.into_iter().filter(|name| self.of(name) != expected.of(name));
        differs.map(|name| format!("{name}: {} and not {}", self.of(name), expected.of(name))).collect()
    }
}

/// The attribute of a row, or one inside of it: `total.amount`.
fn at<'a>(row: &'a Value, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = row.get(first)?;
    match rest {
        Some(rest) => at(value.get("M")?, rest),
        None => Some(value),
    }
}

/// A value without DynamoDB's types.
fn plain(value: &Value) -> String {
    let Some((kind, value)) = value.as_object().and_then(|typed| typed.iter().next()) else { return value.to_string() };
    match (kind.as_str(), value) {
        ("S" | "N", Value::String(text)) => text.clone(),
        ("NULL", _) => "none".to_owned(),
        ("L", Value::Array(values)) => format!("[{}]", values.iter().map(plain).collect::<Vec<_>>().join(", ")),
        ("M", Value::Object(named)) => {
            let named = named.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
            format!("{{{}}}", named.collect::<Vec<_>>().join(", "))
        }
        (_, value) => value.to_string(),
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

    #[test]
    fn what_a_row_says_is_seen_though_there_are_as_many() {
        let of = |table: &str, row: Value| {
            let mut effects = Effects::default();
            effects.add_rows(table, &[row]);
            effects
        };
        let member = |of: &str| json!({"member_of": {"S": of}, "user_id": {"S": "rosa"}});
        let (before, after) = (of("members", member("r-1")), of("members", member("r-2")));
        assert_eq!(
            before.differences(&after),
            ["members member_of = r-1: 1 and not 0", "members member_of = r-2: 0 and not 1"]
        );
        let wishes = |wishes: Value| of("recipients", json!({"preferences": {"L": wishes}}));
        let stopped = json!([{"M": {"channel": {"S": "EMAIL"}, "enabled": {"BOOL": false}}}]);
        assert_ne!(wishes(json!([])), wishes(stopped.clone()));
        assert_eq!(wishes(stopped).of("recipients preferences = [{channel: EMAIL, enabled: false}]"), 1);
        let charged = of("payments", json!({"total": {"M": {"amount": {"N": "750"}}}}));
        assert_eq!((charged.of("payments total.amount in all"), charged.total()), (750, 1));
    }
}
