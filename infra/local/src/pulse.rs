//! The functions' metrics per second, for the console's charts.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::Value;

const KEPT: usize = 600;

/// The metrics and their names in the console.
const COUNTED: [(&str, &str); 15] = [
    ("Accepted", "accepted"),
    ("EventsAccepted", "accepted"),
    ("Replayed", "replayed"),
    ("EventsHandedInAgain", "replayed"),
    ("Refused", "refused"),
    ("Conflicted", "refused"),
    ("Relayed", "relayed"),
    ("Processed", "processed"),
    ("DuplicatesSkipped", "duplicates"),
    ("Sent", "sent"),
    ("SendRetried", "retried"),
    ("Retried", "retried"),
    ("SendFailed", "failed"),
    ("DeadLetters", "dead_letters"),
    ("Held", "dead_letters"),
];

/// A failed send is also a dead letter, but the consumers' metric does not count it.
const FAILED: &str = "failed";
const DEAD_LETTERS: &str = "dead_letters";

/// Counts since the start and for each of the last seconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Pulse {
    totals: BTreeMap<&'static str, u64>,
    seconds: VecDeque<Second>,
}

#[derive(Debug, Clone, Serialize)]
struct Second {
    at: i64,
    #[serde(flatten)]
    counts: BTreeMap<&'static str, u64>,
    /// The longest time from an event's commit to its last queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    relay_lag_ms: Option<f64>,
}

impl Pulse {
    /// Adds a line in embedded metric format that was written in second `at`.
    pub fn add(&mut self, at: i64, line: &Value) {
        if self.seconds.back().is_none_or(|last| last.at < at) {
            self.seconds.push_back(Second { at, counts: BTreeMap::new(), relay_lag_ms: None });
            if self.seconds.len() > KEPT {
                self.seconds.pop_front();
            }
        }
        let Some(second) = self.seconds.back_mut() else { return };
        for (metric, name) in COUNTED {
            let count = line[metric].as_u64().unwrap_or(0);
            let also = if name == FAILED { Some(DEAD_LETTERS) } else { None };
            for name in also.into_iter().chain([name]).filter(|_| count > 0) {
                *second.counts.entry(name).or_default() += count;
                *self.totals.entry(name).or_default() += count;
            }
        }
        if let Some(lag) = line["RelayLag"].as_f64() {
            second.relay_lag_ms = Some(second.relay_lag_ms.map_or(lag, |longest| longest.max(lag)));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_second_has_what_was_counted_in_it_and_the_totals_have_all() {
        let mut pulse = Pulse::default();
        pulse.add(1, &json!({"Accepted": 1, "Replayed": 0}));
        pulse.add(1, &json!({"Relayed": 2, "RelayLag": 7.5}));
        pulse.add(1, &json!({"Relayed": 1, "RelayLag": 3.0}));
        pulse.add(3, &json!({"EventsAccepted": 4, "SendFailed": 1}));
        let shown = serde_json::to_value(&pulse).expect("json");
        let seconds = json!([
            {"at": 1, "accepted": 1, "relayed": 3, "relay_lag_ms": 7.5},
            {"at": 3, "accepted": 4, "failed": 1, "dead_letters": 1},
        ]);
        assert_eq!(shown["seconds"], seconds);
        assert_eq!(shown["totals"], json!({"accepted": 5, "relayed": 3, "failed": 1, "dead_letters": 1}));
    }

    #[test]
    fn only_the_last_seconds_are_kept() {
        let mut pulse = Pulse::default();
        for at in 0..700 {
            pulse.add(at, &json!({"Accepted": 1}));
        }
        assert_eq!((pulse.seconds.len(), pulse.seconds[0].at, pulse.totals["accepted"]), (600, 100, 700));
    }
}
