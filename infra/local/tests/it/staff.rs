//! A restaurant's staff, whom an event is to reach through three channels, and what has reached them.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use futures_util::StreamExt;
use providers::{Outcome, Target};
use serde_json::{Value, json};

use crate::belfry::{Belfry, call, token};
use crate::world::{PATIENCE, World, template};

/// The channels that the staff have an address for.
pub const CHANNELS: [Target; 3] = [Target::Email, Target::Sms, Target::Push];

/// A retry is due at once, and so is what the sweeper looks for.
pub const SOON: [(&str, &str); 2] = [("BELFRY_BACKOFF_BASE", "1ms"), ("BELFRY_OUTBOX_GRACE", "0s")];

/// A dead worker's claim ends after seconds. Not sooner: nobody may outlast a provider's time limit or a lease only
/// because the machine is busy.
pub const SHORT_LEASE: [(&str, &str); 2] = [("BELFRY_PROVIDER_TIME_LIMIT", "8s"), ("BELFRY_SEND_LEASE", "10s")];

/// What a killed fan-out held comes back after a while that a test can wait for.
const FAN_OUT_COMES_BACK: [(&str, &str); 5] = [
    ("VisibilityTimeout: 180", "VisibilityTimeout: 8"),
    ("VisibilityTimeout: \"180\"", "VisibilityTimeout: \"8\""),
    ("VisibilityTimeout: \"540\"", "VisibilityTimeout: \"8\""),
    ("      Timeout: 30", "      Timeout: 8"),
    ("      Timeout: 90", "      Timeout: 8"),
];

/// And what a killed delivery held. Longer than the lease: who comes earlier is the sweeper.
const DELIVERY_COMES_BACK: [(&str, &str); 2] =
    [("VisibilityTimeout: \"360\"", "VisibilityTimeout: \"15\""), ("      Timeout: 60", "      Timeout: 15")];

/// And nobody takes fresh sends to their queues.
const SENDS_STAY_THERE: (&str, &str) = (
    "            Stream: !GetAtt SendsTable.StreamArn",
    "            Enabled: false\n            Stream: !GetAtt SendsTable.StreamArn",
);

/// The deployed template, but for that: of both, of the fan-out alone, of the fan-out alone and nothing is sent.
pub static BOTH_COME_BACK: LazyLock<String> =
    LazyLock::new(|| template("both", &[FAN_OUT_COMES_BACK.as_slice(), &DELIVERY_COMES_BACK].concat()));
pub static FAN_OUT_ALONE: LazyLock<String> = LazyLock::new(|| template("fan-out", &FAN_OUT_COMES_BACK));
pub static NOTHING_SENT: LazyLock<String> =
    LazyLock::new(|| template("nothing-sent", &[FAN_OUT_COMES_BACK.as_slice(), &[SENDS_STAY_THERE]].concat()));

/// A send as it is stored.
#[derive(Debug)]
pub struct Stored {
    pub user_id: String,
    pub channel: Target,
    pub status: String,
    /// Whether somebody is still to come for it.
    pub is_open: bool,
    /// What came of each attempt.
    pub attempts: Vec<String>,
}

impl Stored {
    /// How many attempts ended so.
    pub fn ended(&self, outcome: &str) -> usize {
        self.attempts.iter().filter(|ended| *ended == outcome).count()
    }
}

/// Somebody's id.
pub fn user_id(n: usize) -> String {
    format!("s-{n:02}")
}

/// Somebody's address for a channel.
pub fn address(user_id: &str, channel: Target) -> String {
    let number = user_id.trim_start_matches("s-");
    match channel {
        Target::Sms => format!("+39060000{number}"),
        Target::Push => format!("token-{number}"),
        _ => format!("s{number}@example.com"),
    }
}

impl World {
    /// Stores so many people of the restaurant, with an address for each channel.
    pub async fn employ(&self, host: &Belfry, people: usize) {
        let clerk = json!({"sub": "clerk", "user_type": "ADMIN_USER", "scopes": ["recipients:write"]});
        let token = &token(&self.client, host.url(), clerk).await;
        let store = |user_id: String| async move {
            let details = json!({
                "name": user_id, "restaurant_id": "r", "email": address(&user_id, Target::Email),
                "phone": address(&user_id, Target::Sms), "push_tokens": [address(&user_id, Target::Push)],
            });
            let request = self.client.put(format!("{}/v1/recipients/RESTAURANT_USER/{user_id}", host.url()));
            let stored = request.bearer_auth(token).json(&details).send().await.expect("an answer");
            assert_eq!(stored.status(), 200, "{}", self.cell);
        };
        futures_util::stream::iter((0..people).map(user_id)).for_each_concurrent(8, store).await;
    }

    /// Hands in an urgent announcement to all of them.
    pub async fn announce_to_staff(&self, host: &Belfry) {
        let source = json!({"sub": "source", "user_type": "ADMIN_USER", "scopes": ["events:write"]});
        let event = json!({
            "event_id": "e", "event_type": "Announcement", "aggregate_type": "Notice", "aggregate_id": "n",
            "payload": {
                "title": "t", "body": "b", "audience": "RESTAURANT_USER", "restaurant_id": "r",
                "channels": CHANNELS, "urgent": true,
            },
        });
        let answer = self.post(host, source, "/v1/events", "k", &event).await.expect("an answer");
        assert_eq!(answer.0, 202, "{}: {}", self.cell, answer.1);
    }

    /// How often each address was reached through each channel.
    pub fn reached(&self) -> BTreeMap<(String, String), usize> {
        let mut reached = BTreeMap::new();
        for sent in self.backends.providers.sent(None) {
            if matches!(sent.outcome, Outcome::Accepted | Outcome::AnswerDropped) {
                let to = (format!("{:?}", sent.channel), sent.to.unwrap_or_default());
                *reached.entry(to).or_default() += 1;
            }
        }
        reached
    }

    /// Every send.
    pub async fn sends(&self) -> Vec<Stored> {
        let text = |value: &Value| value["S"].as_str().unwrap_or_default().to_owned();
        let stored = |item: Value| Stored {
            user_id: text(&item["user_id"]),
            channel: serde_json::from_value(json!(text(&item["channel"]))).expect("a channel"),
            status: text(&item["status"]),
            is_open: text(&item["due"]).starts_with("OPEN"),
            attempts: item["attempts"]["L"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|attempt| text(&attempt["M"]["outcome"]))
                .collect(),
        };
        self.scan("sends").await.into_iter().map(stored).collect()
    }

    /// Returns when the sends are so.
    pub async fn until_sends(&self, what: &str, are_so: impl Fn(&[Stored]) -> bool) {
        let become_so = async {
            while !are_so(&self.sends().await) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, become_so).await.unwrap_or_else(|_| panic!("{}: not {what}", self.cell));
    }

    /// Runs the sweeper for sends; says how many it sent for. A run that did not get through to the engine in time sent
    /// for nothing that counts: the schedule comes again, and so does whoever calls this.
    pub async fn sweep_sends(&self, host: &Belfry) -> u64 {
        let event = json!({"function": "SweepFunction", "event": {"task": "sends"}});
        let swept = call(&self.client, self.client.post(format!("{}/local/invoke", host.url())).json(&event)).await;
        match (swept["response"]["published"].as_u64(), swept["error"].as_str()) {
            (Some(published), _) => published,
            (None, Some(problem)) if problem.starts_with("unavailable") => 0,
            _ => panic!("{}: {swept}", self.cell),
        }
    }

    /// Sweeps until so many sends are at an end, or an operator's; then everything comes to rest.
    pub async fn settled(&self, host: &Belfry, sends: usize) -> Vec<Stored> {
        let settled = async {
            loop {
                self.sweep_sends(host).await;
                let stored = self.sends().await;
                if stored.len() == sends && stored.iter().all(|send| !send.is_open) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let settled = tokio::time::timeout(PATIENCE, settled).await;
        assert!(settled.is_ok(), "{}: for ever open: {:?}", self.cell, self.sends().await);
        self.idle(host).await;
        assert_eq!(self.sweep_sends(host).await, 0, "{}: nothing is left to send for", self.cell);
        self.sends().await
    }

    /// Everybody has one notification, one send through each channel, and was reached through each exactly once.
    pub async fn all_reached_once(&self, people: usize) {
        let cell = &self.cell;
        let everybody: Vec<[String; 1]> = (0..people).map(|n| [user_id(n)]).collect();
        assert_eq!(self.rows("notifications", ["user_id"]).await, everybody, "{cell}: notifications");
        let each = CHANNELS.into_iter().flat_map(|channel| (0..people).map(move |n| (channel, user_id(n))));
        let to = |(channel, user_id): &(Target, String)| (format!("{channel:?}"), address(user_id, *channel));
        let each: BTreeMap<(String, String), usize> = each.map(|send| (to(&send), 1)).collect();
        let mut sends = BTreeMap::new();
        for send in self.sends().await {
            assert_eq!(send.status, "SENT", "{cell}: {send:?}");
            *sends.entry(to(&(send.channel, send.user_id))).or_default() += 1;
        }
        assert_eq!(sends, each, "{cell}: sends");
        assert_eq!(self.reached(), each, "{cell}: reached");
        assert!(self.scan("dead-letters").await.is_empty(), "{cell}: dead letters");
    }
}
