//! Events from outside: handed in, handed in again, and once with another content.

use serde_json::{Value, json};

use super::Soak;
use super::asked::code;
use super::people::{self, kind, user_id};
use super::schedule::{Op, Step};
use super::steps::shop;

fn title(n: usize) -> String {
    format!("Notice {n:07}.")
}

/// The id of what is handed in.
pub fn event_id(n: usize) -> String {
    format!("notice-{n:07}")
}

impl Soak {
    /// Takes a step that hands something in.
    pub(super) async fn hand_in(&self, step: &Step) {
        let (n, other) = match &step.op {
            Op::HandInAgain { of } => (*of, false),
            Op::HandInOther { of } => (*of, true),
            _ => (step.n, false),
        };
        if n != step.n {
            self.log.until_done(n).await;
        }
        let Some(mut event) = self.handed_in(n) else { return };
        if other {
            event["payload"]["body"] = json!("Something else.");
        }
        if n == step.n {
            self.log.lock().handed_in.insert(n, false);
        }
        let Some(answer) = self.until_answered(&shop(), "/v1/events", None, Some(&event)).await else { return };
        let was_accepted = self.log.lock().handed_in.get(&n).copied().unwrap_or_default();
        match (answer.0, other) {
            (202, false) => drop(self.log.lock().handed_in.insert(n, true)),
            (409, true) if code(&answer) == "EVENT_CONFLICT" => {}
            (202, true) if !was_accepted => {}
            (status, _) => self.log.violation(format!("step {}: handing in {n} answered {status}", step.n)),
        }
    }

    /// Hands in again what an earlier step did.
    pub(super) async fn hand_in_again(&self, of: usize) {
        self.hand_in(&Step { n: usize::MAX, op: Op::HandInAgain { of }, copies: 1 }).await;
    }

    /// What a step hands in: it is derived from the step alone.
    fn handed_in(&self, n: usize) -> Option<Value> {
        let steps = self.handed_in_steps();
        let (to, urgent) = steps.get(&n).copied()?;
        let mut payload = json!({
            "title": title(n), "body": "All of it.", "audience": kind(to).0, "user_id": user_id(to), "urgent": urgent,
            "channels": ["EMAIL", "SMS", "PUSH", "SLACK"],
        });
        // Some of them to a whole group.
        if n.is_multiple_of(3) && to >= people::CUSTOMERS {
            payload.as_object_mut()?.remove("user_id");
            if let (_, Some((field, id))) = kind(to) {
                payload[field] = json!(id);
            }
        }
        Some(json!({
            "event_id": event_id(n), "event_type": "Announcement", "aggregate_type": "Soak", "aggregate_id": "soak",
            "payload": payload,
        }))
    }
}
