//! Trouble: kills, faults, poison, repetitions; and operators, who handle what it leaves.

use std::time::Duration;

use harness::verified_with;
use providers::{Fault as ProviderFault, Mode, Target};
use reqwest::Method;
use serde_json::{Value, json};

use super::Soak;
use super::handing_in::event_id;
use super::schedule::Op;
use super::steps::shop;

impl Soak {
    /// Makes trouble.
    pub(super) async fn trouble(&self, op: &Op) {
        match op {
            Op::Poison { queue, body } => {
                let message = json!({"queue": queue, "body": body});
                self.world.ask(None, Method::POST, "/local/inject", None, Some(&message)).await;
            }
            Op::Provider { target, mode, times } => {
                let fault = ProviderFault { target: *target, mode: *mode, times: Some(*times) };
                self.world.backends.providers.set_fault(fault);
            }
            Op::ForgetKeys => self.world.backends.providers.forget_idempotency_keys(),
            Op::Engine { operation, faults } => {
                let is_queue = operation.contains("Message");
                let proxy = if is_queue { &self.world.backends.sqs } else { &self.world.backends.dynamodb };
                self.log.count("engine faults", faults.len() as u64);
                proxy.break_next(operation, faults);
            }
            Op::Kill => {
                self.log.count("kills", 1);
                self.world.next_host().await;
            }
            Op::Sweep { task } => {
                self.world.sweep(task).await;
            }
            Op::Verify => self.verify_meanwhile().await,
            _ => {}
        }
    }

    /// Mends the providers.
    pub(super) fn mend_providers(&self) {
        for target in [Target::Email, Target::Sms, Target::Push, Target::Slack, Target::Payment] {
            self.world.backends.providers.set_fault(ProviderFault { target, mode: Mode::Ok, times: None });
        }
        self.world.backends.providers_proxy.mend();
    }

    /// The tables while everything is under way: whatever is found then is there to stay.
    async fn verify_meanwhile(&self) {
        let report = verified_with(&self.world.survey(), Duration::from_secs(600), Duration::from_secs(2)).await;
        self.log.count("verified meanwhile", 1);
        for finding in report.findings {
            self.log.violation(format!("meanwhile: {finding}"));
        }
    }

    /// The events of what an earlier step did.
    async fn events_of(&self, of: usize) -> Vec<String> {
        self.log.until_done(of).await;
        let body = {
            let inner = self.log.lock();
            if inner.handed_in.contains_key(&of) {
                return vec![event_id(of)];
            }
            inner.asked.get(&of).and_then(super::asked::Asked::accepted).unwrap_or_default()
        };
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let (kind, id) = match (body["order_id"].is_string(), body["reservation_id"].is_string()) {
            (true, _) => ("Order", text("order_id")),
            (_, true) => ("Reservation", text("reservation_id")),
            _ => ("Entitlement", format!("{}#{}", text("user_id"), text("stock_keeping_unit"))),
        };
        let events = self.world.survey().versions(kind, &id).await.unwrap_or_default();
        events.into_iter().map(|event| event.event_id.to_string()).collect()
    }

    /// Everything of the last event of an earlier step is delivered again.
    pub(super) async fn redeliver(&self, of: usize, times: u32) {
        let Some(event_id) = self.events_of(of).await.pop() else { return };
        let body = json!({"event_id": event_id, "times": times});
        let answer = self.world.ask(None, Method::POST, "/local/redeliver", None, Some(&body)).await;
        let answer: Value = answer.and_then(|(_, text)| serde_json::from_str(&text).ok()).unwrap_or_default();
        self.log.count("redeliveries", answer["deliveries"].as_u64().unwrap_or_default());
    }

    /// An operator sends an event on its way again.
    pub(super) async fn republish(&self, n: usize, of: usize) {
        let Some(event_id) = self.events_of(of).await.pop() else { return };
        let path = format!("/v1/outbox/{event_id}/republish");
        self.until_answered(&shop(), &path, Some(&format!("republish-{n}")), None).await;
    }

    /// The open dead letters.
    pub(super) async fn open_letters(&self) -> Vec<Value> {
        let mut letters = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/v1/dead-letters?status=OPEN&limit=100{cursor}");
            let page = self.world.ask(Some(&shop()), Method::GET, &path, None, None).await;
            let page: Value = page.and_then(|(_, text)| serde_json::from_str(&text).ok()).unwrap_or_default();
            letters.extend(page["dead_letters"].as_array().cloned().unwrap_or_default());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return letters,
            }
        }
    }

    /// An operator handles one of the open letters.
    pub(super) async fn operate(&self, n: usize, nth: usize, redrive: bool) {
        let letters = self.open_letters().await;
        let Some(letter) = letters.get(nth % letters.len().max(1)) else { return };
        self.handle_letter(letter, redrive, &format!("operate-{n}")).await;
    }

    /// Redrives a letter, or discards it. What no consumer can read is discarded, and what an event still asks for is not:
    /// its effect would be missed.
    pub(super) async fn handle_letter(&self, letter: &Value, redrive: bool, key: &str) {
        let Some(id) = letter["dead_letter_id"].as_str() else { return };
        let is_poison = letter["event_id"].is_null();
        let is_send = letter["queue"].as_str().is_some_and(|queue| queue.starts_with("deliver-"));
        let verb = if is_poison || (is_send && !redrive) { "discard" } else { "redrive" };
        let path = format!("/v1/dead-letters/{id}/{verb}");
        if let Some((200, _)) = self.until_answered(&shop(), &path, Some(key), None).await {
            self.log.count(if verb == "discard" { "letters discarded" } else { "letters redriven" }, 1);
        }
    }
}
