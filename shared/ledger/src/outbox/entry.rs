//! An entry as an operator sees it.

use domain::event::OutboxStatus;
use domain::{EventId, Time, Trace};

use crate::Events;
use crate::item::Item;
use crate::read::Found;

/// An entry as an operator sees it: as much of it as can be read, because what cannot be is what they look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: Option<String>,
    /// The kind of thing it happened to.
    pub aggregate_type: Option<String>,
    /// The thing it happened to.
    pub aggregate_id: Option<String>,
    /// Where it stands; an entry whose status cannot be read is an operator's case.
    pub status: OutboxStatus,
    /// How many attempts have counted.
    pub attempt_count: u32,
    /// When it is tried again, after a failure.
    pub next_retry_at: Option<Time>,
    /// The last failure.
    pub last_error: Option<String>,
    /// When that was.
    pub last_error_at: Option<Time>,
    /// When it was committed.
    pub created_at: Option<Time>,
    /// When the last queue had it.
    pub published_at: Option<Time>,
    /// The sweeper's claim.
    pub locked_by: Option<String>,
    /// Since when.
    pub locked_at: Option<Time>,
    /// Until when.
    pub lease_until: Option<Time>,
    /// Whose command it was.
    pub actor: Option<String>,
    /// The trace that it belongs to.
    pub trace: Option<Trace>,
}

impl Entry {
    pub(crate) fn read(event_id: &EventId, item: &Item) -> Self {
        let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
        let time = |name: &str| text(name).and_then(|text| Time::parse(&text).ok());
        let status = text("status").and_then(|name| OutboxStatus::parse(&name)).unwrap_or(OutboxStatus::Failed);
        let attempts = item.get("attempt_count").and_then(|value| value.as_n().ok());
        Self {
            event_id: event_id.clone(),
            event_type: text("event_type"),
            aggregate_type: text("aggregate_type"),
            aggregate_id: text("aggregate_id"),
            status,
            attempt_count: attempts.and_then(|number| number.parse().ok()).unwrap_or(0),
            next_retry_at: time("next_retry_at"),
            last_error: text("last_error"),
            last_error_at: time("last_error_at"),
            created_at: time("created_at"),
            published_at: time("published_at"),
            locked_by: text("locked_by"),
            locked_at: time("locked_at"),
            lease_until: time("lease_until"),
            actor: text("actor"),
            trace: text("traceparent").and_then(|text| Trace::parse(&text).ok()),
        }
    }
}

impl Events {
    /// The entry among the items that were found.
    pub fn entry(&self, found: &Found, event_id: &EventId) -> Option<Entry> {
        found.get(&self.key(event_id)).map(|item| Entry::read(event_id, item))
    }
}
