//! Coming to rest: every fault mended, every command answered, every letter handled, and nothing under way.

use std::time::Duration;

use harness::verified_with;
use reqwest::Method;
use serde_json::Value;

use super::Soak;
use super::steps::shop;

/// How long everything may take to come to rest: orders that stand still past their deadline and the waits of sweepers
/// are part of it.
const PATIENCE: Duration = Duration::from_secs(300);

impl Soak {
    /// Mends everything, asks what was not answered again, and returns when nothing is under way any more.
    pub async fn rest(&self) -> Result<(), String> {
        self.world.mend_engines();
        self.mend_providers();
        self.ask_what_is_open().await?;
        let begun = tokio::time::Instant::now();
        let mut round = 0;
        loop {
            round += 1;
            for task in ["outbox", "sends", "orders"] {
                self.world.sweep(task).await;
            }
            // Tables can be at rest while a duplicate still lies in a queue: what it does must be over before the audit.
            let idle = self.world.ask(None, Method::GET, "/local/idle?timeout=20", None, None).await;
            let is_idle = matches!(idle, Some((200, _)));
            let letters = self.open_letters().await;
            let has_letters = !letters.is_empty();
            for letter in letters {
                let id = letter["dead_letter_id"].as_str().unwrap_or_default().to_owned();
                self.handle_letter(&letter, true, &format!("rest-{round}-{id}")).await;
            }
            let has_failed = self.republish_failed(round).await;
            let report = verified_with(&self.world.survey(), Duration::from_secs(3_600), Duration::ZERO).await;
            // What was sent on its way in this round is waited for in the next.
            if is_idle && !has_letters && !has_failed && report.under_way == 0 && report.waiting == 0 {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let queues = if is_idle { "idle" } else { "not idle" };
                return Err(format!("it does not come to rest: the host is {queues}, {report}"));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// A caller whose answer got lost asks again.
    async fn ask_what_is_open(&self) -> Result<(), String> {
        let open: Vec<_> = {
            let inner = self.log.lock();
            let open = inner.asked.iter().filter(|(_, asked)| asked.answers.is_empty());
            open.map(|(n, asked)| (*n, asked.command.clone())).collect()
        };
        for (n, command) in open {
            self.log.count("asked again at the end", 1);
            if self.ask(n, &command).await.is_none() {
                return Err(format!("step {n} has no answer, though nothing is broken"));
            }
        }
        let steps = self.handed_in_steps();
        let open: Vec<usize> = {
            let inner = self.log.lock();
            inner.handed_in.iter().filter(|(_, accepted)| !**accepted).map(|(n, _)| *n).collect()
        };
        for n in open.into_iter().filter(|n| steps.contains_key(n)) {
            self.hand_in_again(n).await;
        }
        Ok(())
    }

    /// Outbox entries that were refused too often; whether there were any.
    async fn republish_failed(&self, round: u32) -> bool {
        let failed = self.world.ask(Some(&shop()), Method::GET, "/v1/outbox?status=FAILED&limit=100", None, None).await;
        let failed: Value = failed.and_then(|(_, text)| serde_json::from_str(&text).ok()).unwrap_or_default();
        let failed = failed["events"].as_array().cloned().unwrap_or_default();
        for entry in &failed {
            let Some(event_id) = entry["event_id"].as_str() else { continue };
            let path = format!("/v1/outbox/{event_id}/republish");
            self.until_answered(&shop(), &path, Some(&format!("rest-{round}-{event_id}")), None).await;
        }
        !failed.is_empty()
    }
}
