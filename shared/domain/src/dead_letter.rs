//! Dead letters: messages that a consumer gave up on, kept with the reason until an operator redrives or discards them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::compose;
use crate::{Event, EventId, Fresh, Time, Trace};

mod job;

pub use job::{DeadLetterFilter, REDRIVE_REQUESTED, RedriveJob, Selection};

/// The event type of a redrive.
pub const REDRIVEN: &str = "DeadLetterRedriven";
/// The event type of a discard.
pub const DISCARDED: &str = "DeadLetterDiscarded";

/// How many former failures a dead letter remembers.
const PAST_FAILURES: usize = 20;

/// The namespace of derived ids; any constant will do, it must only stay the same.
const NAMESPACE: Uuid = Uuid::from_u128(0x6d1c_0d3e_3f0b_4a55_9c0a_52a1_7f0e_be11);

/// A message that a consumer gave up on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Derived from consumer and event (or message, where there is no event): one dead letter for each.
    pub dead_letter_id: Uuid,
    /// The consumer's queue, which a redrive sends to.
    pub queue: String,
    /// Who gave up.
    pub consumer: String,
    /// The event, where the message could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// Why.
    pub reason: String,
    /// How often the message had been received.
    pub receive_count: u32,
    /// The message, as it was.
    pub body: String,
    /// Its text attributes.
    pub attributes: BTreeMap<String, String>,
    /// Where it stands.
    pub status: DeadLetterStatus,
    /// When it was given up on, the last time.
    pub created_at: Time,
    /// Since when a mark of its processing may exist: when the event was recorded, or the message first given up on.
    pub since: Time,
    /// Who redrove or discarded it last, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<Handled>,
    /// How it failed before it was redriven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<PastFailure>,
    /// Grows by one with each change, from 1.
    pub version: u64,
}

/// Where a dead letter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DeadLetterStatus {
    /// It waits for an operator.
    Open,
    /// It was sent to its consumer again.
    Redriven,
    /// An operator decided that it need not be done.
    Discarded,
}

impl DeadLetterStatus {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Open, Self::Redriven, Self::Discarded];

    /// The name as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Redriven => "REDRIVEN",
            Self::Discarded => "DISCARDED",
        }
    }
}

/// Who handled a dead letter, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handled {
    /// The operator.
    pub by: String,
    /// When.
    pub at: Time,
}

/// One failure of a message that has been redriven since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastFailure {
    /// When it was given up on.
    pub at: Time,
    /// Why.
    pub reason: String,
    /// How often the message had been received.
    pub receive_count: u32,
}

/// A message at the moment when a consumer gives it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// The consumer's queue.
    pub queue: String,
    /// The consumer.
    pub consumer: String,
    /// Event id, type and the time it was recorded, where the message could be read.
    pub event: Option<(EventId, String, Time)>,
    /// The notification, where the message is about one send of the event: each has a dead letter of its own.
    pub notification_id: Option<Uuid>,
    /// The queue's id of the message.
    pub message_id: String,
    /// Why.
    pub reason: String,
    /// How often it had been received.
    pub receive_count: u32,
    /// The message, as it was.
    pub body: String,
    /// Its text attributes.
    pub attributes: BTreeMap<String, String>,
}

/// A dead letter may not be handled as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotHandle {
    /// Somebody was first.
    #[error("already {}{}", .status.as_str(), .handled.as_ref().map_or_else(String::new, |handled| format!(" by {} at {}", handled.by, handled.at)))]
    AlreadyHandled {
        /// Where it stands.
        status: DeadLetterStatus,
        /// Who, and when.
        handled: Option<Handled>,
    },
    /// The mark that would tell whether it was done may be gone.
    #[error("it is older than processed marks are kept, so it cannot be known whether it was done")]
    TooOld,
}

/// The id of the dead letter of one consumer and one event.
pub fn dead_letter_id(consumer: &str, event_id: &EventId) -> Uuid {
    derived(consumer, "event", event_id.as_str())
}

/// The id of the dead letter of one send.
pub fn dead_send_id(consumer: &str, notification_id: Uuid) -> Uuid {
    derived(consumer, "send", &notification_id.to_string())
}

fn derived(consumer: &str, kind: &str, id: &str) -> Uuid {
    Uuid::new_v5(&NAMESPACE, compose(&[consumer, kind, id]).as_bytes())
}

impl GivenUp {
    /// The id of its dead letter.
    pub fn dead_letter_id(&self) -> Uuid {
        match (self.notification_id, &self.event) {
            (Some(notification_id), _) => dead_send_id(&self.consumer, notification_id),
            (None, Some((event_id, _, _))) => dead_letter_id(&self.consumer, event_id),
            (None, None) => derived(&self.consumer, "message", &self.message_id),
        }
    }

    /// What becomes of the dead letter: a new one; the redriven one, open again; or nothing, where it is open already
    /// or an operator decided that it need not be done.
    pub fn decide(&self, standing: Option<&DeadLetter>, now: Time) -> Option<DeadLetter> {
        let (past, since, version) = match standing {
            None => (Vec::new(), self.event.as_ref().map_or(now, |(_, _, recorded_at)| *recorded_at), 1),
            Some(before) => match before.status {
                DeadLetterStatus::Open | DeadLetterStatus::Discarded => return None,
                DeadLetterStatus::Redriven => (before.failures(), before.since, before.version + 1),
            },
        };
        Some(DeadLetter {
            dead_letter_id: self.dead_letter_id(),
            queue: self.queue.clone(),
            consumer: self.consumer.clone(),
            event_id: self.event.as_ref().map(|(event_id, _, _)| event_id.clone()),
            event_type: self.event.as_ref().map(|(_, event_type, _)| event_type.clone()),
            reason: self.reason.clone(),
            receive_count: self.receive_count,
            body: self.body.clone(),
            attributes: self.attributes.clone(),
            status: DeadLetterStatus::Open,
            created_at: now,
            since,
            handled: None,
            past,
            version,
        })
    }
}

/// The payload of `DeadLetterRedriven` and `DeadLetterDiscarded`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeadLetterHandled {
    /// Which.
    pub dead_letter_id: Uuid,
    /// The queue of the consumer that had given up.
    pub queue: String,
    /// That consumer.
    pub consumer: String,
    /// The event, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_event_id: Option<EventId>,
    /// The dead letter's version after it.
    pub version: u64,
}

impl DeadLetter {
    /// The kind and id under which the audit of a dead letter is kept.
    pub fn aggregate(id: Uuid) -> (String, String) {
        ("DeadLetter".to_owned(), id.to_string())
    }

    /// Whether its consumer's mark may be gone at `now`. A mark of exactly the retention's age is still there.
    pub fn is_too_old(&self, now: Time, marks_kept: Duration) -> bool {
        self.since.plus(marks_kept) < now
    }

    /// Redrives it: the dead letter as it stands then.
    pub fn redrive(&self, by: &str, fresh: &Fresh, marks_kept: Duration) -> Result<Self, CannotHandle> {
        let redriven = self.handle(DeadLetterStatus::Redriven, by, fresh)?;
        if self.is_too_old(fresh.now, marks_kept) { Err(CannotHandle::TooOld) } else { Ok(redriven) }
    }

    /// Discards it.
    pub fn discard(&self, by: &str, fresh: &Fresh) -> Result<Self, CannotHandle> {
        self.handle(DeadLetterStatus::Discarded, by, fresh)
    }

    fn handle(&self, status: DeadLetterStatus, by: &str, fresh: &Fresh) -> Result<Self, CannotHandle> {
        if self.status != DeadLetterStatus::Open {
            return Err(CannotHandle::AlreadyHandled { status: self.status, handled: self.handled.clone() });
        }
        let handled = Some(Handled { by: by.to_owned(), at: fresh.now });
        Ok(Self { status, handled, version: self.version + 1, ..self.clone() })
    }

    /// The event that reports that it was handled.
    pub fn handled_event(&self, fresh: &Fresh, trace: Option<Trace>) -> Result<Event, serde_json::Error> {
        let event_type = if self.status == DeadLetterStatus::Discarded { DISCARDED } else { REDRIVEN };
        let (aggregate_type, aggregate_id) = Self::aggregate(self.dead_letter_id);
        let payload = DeadLetterHandled {
            dead_letter_id: self.dead_letter_id,
            queue: self.queue.clone(),
            consumer: self.consumer.clone(),
            failed_event_id: self.event_id.clone(),
            version: self.version,
        };
        Ok(Event {
            event_id: fresh.event_id.into(),
            event_type: event_type.to_owned(),
            aggregate_type,
            aggregate_id,
            version: Some(self.version),
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor: self.handled.as_ref().map(|handled| handled.by.clone()),
            traceparent: trace,
            payload: serde_json::to_value(payload)?,
        })
    }

    /// Its failures so far, this one included; the oldest ones are forgotten.
    fn failures(&self) -> Vec<PastFailure> {
        let last = PastFailure { at: self.created_at, reason: self.reason.clone(), receive_count: self.receive_count };
        let keep = self.past.len().saturating_sub(PAST_FAILURES - 1);
        self.past.iter().skip(keep).cloned().chain([last]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn given_up(reason: &str) -> GivenUp {
        GivenUp {
            notification_id: None,
            queue: "fanout-customer".to_owned(),
            consumer: "fanout:CUSTOMER".to_owned(),
            event: Some((EventId::parse("e-1").expect("an id"), "T".to_owned(), at("2026-01-01T00:00:00Z"))),
            message_id: "m-1".to_owned(),
            reason: reason.to_owned(),
            receive_count: 1,
            body: "{}".to_owned(),
            attributes: BTreeMap::new(),
        }
    }

    fn at(text: &str) -> Time {
        Time::parse(text).expect("a time")
    }

    fn fresh(now: &str) -> Fresh {
        Fresh { now: at(now), event_id: Uuid::nil() }
    }

    fn open() -> DeadLetter {
        given_up("first").decide(None, at("2026-01-02T00:00:00Z")).expect("a dead letter")
    }

    #[test]
    fn one_event_of_one_consumer_is_one_dead_letter_whatever_the_message() {
        let other = GivenUp { message_id: "m-2".to_owned(), ..given_up("second") };
        assert_eq!(other.dead_letter_id(), open().dead_letter_id);
        assert_eq!(other.decide(Some(&open()), at("2026-01-03T00:00:00Z")), None, "an open one stays as it is");
        let nameless = |message: &str| GivenUp { event: None, message_id: message.to_owned(), ..given_up("x") };
        assert_ne!(nameless("m-1").dead_letter_id(), nameless("m-2").dead_letter_id());
        let elsewhere = GivenUp { consumer: "fanout:ADMIN_USER".to_owned(), ..given_up("x") };
        assert_ne!(elsewhere.dead_letter_id(), open().dead_letter_id);
    }

    #[test]
    fn what_fails_after_a_redrive_is_open_again_and_remembers_how_it_failed_before() {
        let redriven = open().redrive("op", &fresh("2026-01-02T01:00:00Z"), DAY * 30).expect("redriven");
        let again = given_up("second").decide(Some(&redriven), at("2026-01-02T02:00:00Z")).expect("open again");
        assert_eq!((again.status, again.version, again.since), (DeadLetterStatus::Open, 3, open().since));
        assert_eq!(again.past.iter().map(|past| past.reason.as_str()).collect::<Vec<_>>(), ["first"]);
    }

    #[test]
    fn what_an_operator_discarded_stays_discarded() {
        let discarded = open().discard("op", &fresh("2026-01-02T01:00:00Z")).expect("discarded");
        assert_eq!(given_up("second").decide(Some(&discarded), at("2026-01-02T02:00:00Z")), None);
    }

    #[test]
    fn what_is_not_open_cannot_be_handled_and_says_who_was_first() {
        let discarded = open().discard("rosa", &fresh("2026-01-02T01:00:00Z")).expect("discarded");
        let refusal = discarded.redrive("op", &fresh("2026-01-02T02:00:00Z"), DAY * 30).expect_err("refused");
        assert_eq!(refusal.to_string(), "already DISCARDED by rosa at 2026-01-02T01:00:00.000Z");
    }

    #[test]
    fn a_redrive_is_refused_past_the_marks_retention_and_not_at_it() {
        assert!(open().redrive("op", &fresh("2026-01-31T00:00:00Z"), DAY * 30).is_ok());
        let refusal = open().redrive("op", &fresh("2026-01-31T00:00:00.001Z"), DAY * 30);
        assert_eq!(refusal, Err(CannotHandle::TooOld));
        assert!(open().discard("op", &fresh("2027-01-01T00:00:00Z")).is_ok(), "a discard is never too late");
    }

    #[test]
    fn only_the_last_failures_are_remembered() {
        let mut letter = open();
        for round in 0..30 {
            letter.status = DeadLetterStatus::Redriven;
            letter = given_up(&format!("{round}")).decide(Some(&letter), at("2026-01-02T02:00:00Z")).expect("again");
        }
        assert_eq!(letter.past.len(), PAST_FAILURES);
        assert_eq!(letter.past.last().map(|past| past.reason.as_str()), Some("28"));
    }
}
