//! Three announcements to one customer, accepted together, and the state once they were delivered.

use std::sync::LazyLock;

use futures_util::StreamExt;
use harness::Fault;
use serde_json::{Value, json};

use crate::belfry::{Belfry, call, token};
use crate::world::{Point, World, template};

/// Several, so that a batch can be interrupted halfway.
const EVENTS: [&str; 3] = ["e-0", "e-1", "e-2"];

/// How many cells run concurrently. They mostly wait for a message to become visible again.
const SIDE_BY_SIDE: usize = 8;

/// A killed consumer's messages become visible after three seconds instead of three minutes. The function's timeout,
/// which must not be longer, leaves room for the ledger's retries.
pub const SHORT: [(&str, &str); 5] = [
    ("VisibilityTimeout: 180", "VisibilityTimeout: 3"),
    ("VisibilityTimeout: \"180\"", "VisibilityTimeout: \"3\""),
    ("VisibilityTimeout: \"540\"", "VisibilityTimeout: \"3\""),
    ("      Timeout: 30", "      Timeout: 3"),
    ("      Timeout: 90", "      Timeout: 3"),
];

/// The deployed template with these timeouts.
pub static IMPATIENT: LazyLock<String> = LazyLock::new(|| template("impatient", &SHORT));

/// Runs a cell for each point, killed before the call and after it.
pub async fn killed_at(points: &[Point], cell: impl AsyncFn(Point, Fault)) {
    let cells = points.iter().flat_map(|point| [(*point, Fault::HeldBefore), (*point, Fault::HeldAfter)]);
    let cells = futures_util::stream::iter(cells);
    cells.for_each_concurrent(SIDE_BY_SIDE, async |(point, fault)| cell(point, fault).await).await;
}

impl World {
    pub async fn announce(&self, host: &Belfry) {
        let source = json!({"sub": "source", "user_type": "ADMIN_USER", "scopes": ["events:write"]});
        let event = |id: &str| {
            json!({
                "event_id": id, "event_type": "Announcement", "aggregate_type": "Notice", "aggregate_id": id,
                "payload": {"title": title(id), "body": "b", "audience": "CUSTOMER", "user_id": "u"},
            })
        };
        let events = Value::from(EVENTS.map(event).to_vec());
        let answer = self.post(host, source, "/v1/events", "k", &events).await.expect("an answer");
        assert_eq!(answer.0, 202, "{}: {}", self.cell, answer.1);
    }

    /// Asserts that every event is published and consumed, and that the customer has each announcement once.
    pub async fn all_told_once(&self, host: &Belfry) {
        let cell = &self.cell;
        let events = self.rows("events", ["event_id", "event_type", "status", "unpublished"]).await;
        for [id, _, status, shelf] in &events {
            assert_eq!((status.as_str(), shelf.as_str()), ("PUBLISHED", ""), "{cell}: {id}");
        }
        let consumer = |kind: &str| if kind == "Announcement" { "fanout:CUSTOMER" } else { "redrives" };
        let mark = |[id, kind, ..]: &[String; 4]| [consumer(kind).to_owned(), id.clone()];
        let mut marks: Vec<_> = events.iter().map(mark).collect();
        marks.sort();
        assert_eq!(self.rows("processed", ["consumer", "event_id"]).await, marks, "{cell}: marks");
        let told = EVENTS.map(|id| [id.to_owned()]);
        assert_eq!(self.rows("event-notifications", ["event_id"]).await, told, "{cell}: event notifications");
        assert_eq!(self.rows("notifications", ["event_id"]).await, told, "{cell}: notifications");
        let customer = token(&self.client, host.url(), json!({"sub": "u", "user_type": "CUSTOMER"})).await;
        let inbox = self.client.get(format!("{}/v1/inbox", host.url())).bearer_auth(&customer);
        let inbox = call(&self.client, inbox).await;
        let titles = inbox["notifications"].as_array().expect("a list").iter().map(|told| &told["title"]);
        let mut titles: Vec<&str> = titles.map(|title| title.as_str().expect("text")).collect();
        titles.sort_unstable();
        assert_eq!(titles, EVENTS.map(title), "{cell}: the inbox");
    }

    /// The event, status and version of each dead letter.
    pub async fn dead_letters(&self) -> Vec<[String; 3]> {
        self.rows("dead-letters", ["event_id", "status", "version"]).await
    }
}

/// The expected dead letters, one for each announcement.
pub fn one_each(status: &str, version: u32) -> Vec<[String; 3]> {
    EVENTS.map(|id| [id.to_owned(), status.to_owned(), version.to_string()]).to_vec()
}

fn title(event_id: &str) -> String {
    format!("News {event_id}")
}
