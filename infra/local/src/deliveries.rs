//! Remembers what the mappings have delivered, for `/local/redeliver`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// Older deliveries are forgotten to limit memory.
const REMEMBERED: usize = 30_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    pub function: String,
    pub record: Value,
}

#[derive(Debug, Clone, Default)]
pub struct Deliveries {
    shared: Arc<Mutex<Remembered>>,
}

#[derive(Debug, Default)]
struct Remembered {
    by_event: HashMap<String, Vec<Kept>>,
    order: VecDeque<String>,
}

/// Stored as text, which takes a fraction of the memory of parsed JSON.
#[derive(Debug)]
struct Kept {
    function: String,
    identity: Option<String>,
    record: String,
}

impl Deliveries {
    /// Remembers a record of an event, once.
    pub fn remember(&self, function: &str, record: &Value) {
        let Some(event_id) = event_of(record) else { return };
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = shared.by_event.entry(event_id.to_owned()).or_default();
        let identity = identity_of(record);
        if known.iter().any(|kept| kept.function == function && kept.identity.as_deref() == identity) {
            return;
        }
        known.push(Kept {
            function: function.to_owned(),
            identity: identity.map(str::to_owned),
            record: record.to_string(),
        });
        shared.order.push_back(event_id.to_owned());
        if shared.order.len() > REMEMBERED
            && let Some(oldest) = shared.order.pop_front()
        {
            shared.by_event.remove(&oldest);
        }
    }

    pub fn of_event(&self, event_id: &str) -> Vec<Delivery> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let parse = |kept: &Kept| {
            let record = serde_json::from_str(&kept.record).ok()?;
            Some(Delivery { function: kept.function.clone(), record })
        };
        shared.by_event.get(event_id).into_iter().flatten().filter_map(parse).collect()
    }
}

fn event_of(record: &Value) -> Option<&str> {
    let of_stream = record.pointer("/dynamodb/NewImage/event_id/S");
    of_stream.or_else(|| record.pointer("/messageAttributes/event_id/stringValue")).and_then(Value::as_str)
}

fn identity_of(record: &Value) -> Option<&str> {
    record.get("eventID").or_else(|| record.get("messageId")).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_and_messages_are_found_by_their_event_and_kept_once() {
        let deliveries = Deliveries::default();
        let record = json!({"eventID": "1", "dynamodb": {"NewImage": {"event_id": {"S": "e"}}}});
        let message = json!({"messageId": "m", "messageAttributes": {"event_id": {"stringValue": "e"}}});
        for _ in 0..2 {
            deliveries.remember("relay", &record);
            deliveries.remember("fanout", &message);
        }
        deliveries.remember("fanout", &json!({"messageId": "poison"}));
        let kept: Vec<Value> = deliveries.of_event("e").into_iter().map(|delivery| delivery.record).collect();
        assert_eq!(kept, [record, message]);
        assert!(deliveries.of_event("other").is_empty());
    }
}
