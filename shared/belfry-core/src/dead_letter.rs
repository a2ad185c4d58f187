//! Dead letters: messages that a consumer gave up on, kept with the reason until an operator redrives or discards them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::context::Context;
use crate::entity::{Entity, Stored};
use crate::event::{Event, EventDraft, Message};
use crate::id::compose;
use crate::item::{Index, Item, Key, KeyAttribute, Table, expiry, text};
use crate::{EventId, Timestamp};

/// The event type of a redrive.
pub const REDRIVEN: &str = "DeadLetterRedriven";
/// The event type of a discard.
pub const DISCARDED: &str = "DeadLetterDiscarded";
/// The event type of a job that redrives many.
pub const REDRIVE_REQUESTED: &str = "DeadLettersRedriveRequested";

/// How many earlier failures a dead letter remembers.
const PAST_FAILURES: usize = 20;

/// How many partitions of the index each status is spread over.
pub const PARTITIONS: u32 = 4;

/// How long a dead letter is kept after it was redriven or discarded.
const KEPT_AFTER_HANDLING: Duration = Duration::from_secs(30 * 86_400);

/// The namespace of derived ids. It must never change.
const NAMESPACE: Uuid = Uuid::from_u128(0x6d1c_0d3e_3f0b_4a55_9c0a_52a1_7f0e_be11);

/// The index that lists dead letters by status, in the order in which they were given up.
pub const LISTED: Index =
    Index { name: "listed", hash: KeyAttribute::text("listed"), range: Some(KeyAttribute::text("listed_at")) };

/// A message that a consumer gave up on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Derived from the consumer and the event, so that there is one dead letter for each.
    pub dead_letter_id: Uuid,
    /// The consumer's queue, to which a redrive sends the message.
    pub queue: String,
    /// The consumer.
    pub consumer: String,
    /// The event, if the message could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
    /// The event's type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// Why the consumer gave up.
    pub reason: String,
    /// How often the message had been received.
    pub receive_count: u32,
    /// The message.
    pub body: String,
    /// The message's text attributes.
    pub attributes: BTreeMap<String, String>,
    /// Its status.
    pub status: DeadLetterStatus,
    /// When the consumer gave up, the last time.
    pub created_at: Timestamp,
    /// Since when a processed mark may exist: the time at which the event was recorded, or the message first given up.
    pub since: Timestamp,
    /// Who redrove or discarded it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<Handled>,
    /// How it failed before it was redriven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<PastFailure>,
}

/// The status of a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DeadLetterStatus {
    /// Waits for an operator.
    Open,
    /// Was sent to its consumer again.
    Redriven,
    /// An operator decided that it need not be processed.
    Discarded,
}

impl DeadLetterStatus {
    /// All statuses.
    pub const ALL: [Self; 3] = [Self::Open, Self::Redriven, Self::Discarded];

    /// The name as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Redriven => "REDRIVEN",
            Self::Discarded => "DISCARDED",
        }
    }

    /// The partitions of the index that hold this status.
    pub fn partitions(self) -> impl Iterator<Item = String> {
        (0..PARTITIONS).map(move |partition| self.partition(partition))
    }

    fn partition(self, partition: u32) -> String {
        compose(&[self.as_str(), &partition.to_string()])
    }
}

/// Who handled a dead letter, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handled {
    /// The operator.
    pub by: String,
    /// The time.
    pub at: Timestamp,
}

/// An earlier failure of a message that has been redriven since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastFailure {
    /// When the consumer gave up.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// How often the message had been received.
    pub receive_count: u32,
}

impl Entity for DeadLetter {
    const TABLE: Table = Table::new("dead-letters", "dead_letter_id").ttl("expires_at").indexes(&[LISTED]);
    const KIND: &'static str = "DeadLetter";
    const INDEX_ATTRIBUTES: &'static [&'static str] = &["listed", "listed_at", "expires_at"];
    type Id<'a> = Uuid;

    fn key(id: Uuid) -> Key {
        id.into()
    }

    fn id(&self) -> Uuid {
        self.dead_letter_id
    }

    fn index_attributes(&self) -> Item {
        let partition = (self.dead_letter_id.as_u64_pair().1 % u64::from(PARTITIONS)) as u32;
        let listed_at = compose(&[&self.created_at.to_string(), &self.dead_letter_id.to_string()]);
        // An open one never expires.
        let handled = self.handled.as_ref().filter(|_| self.status != DeadLetterStatus::Open);
        [("listed".to_owned(), text(self.status.partition(partition))), ("listed_at".to_owned(), text(listed_at))]
            .into_iter()
            .chain(handled.and_then(|handled| expiry(handled.at, Some(KEPT_AFTER_HANDLING))))
            .collect()
    }
}

/// A message at the moment at which its consumer gives up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// The consumer's queue.
    pub queue: String,
    /// The consumer.
    pub consumer: String,
    /// The event, if the message could be read.
    pub event: Option<FailedEvent>,
    /// What is unique about the message if it is neither the event nor the message id, as a kind and an id. A consumer that
    /// gets several messages for one event sets it, so that each has a dead letter of its own.
    pub identity: Option<(&'static str, String)>,
    /// The id that the queue gave the message.
    pub message_id: String,
    /// Why the consumer gives up.
    pub reason: String,
    /// How often the message had been received.
    pub receive_count: u32,
    /// The message.
    pub body: String,
    /// The message's text attributes.
    pub attributes: BTreeMap<String, String>,
}

/// The event that a message is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedEvent {
    /// Its id.
    pub event_id: EventId,
    /// Its type.
    pub event_type: String,
    /// When it was recorded.
    pub recorded_at: Timestamp,
}

impl FailedEvent {
    /// The part of an event that a dead letter keeps.
    pub fn of(event: &Event) -> Self {
        Self { event_id: event.event_id.clone(), event_type: event.event_type.clone(), recorded_at: event.recorded_at }
    }
}

/// Why a dead letter cannot be redriven or discarded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotHandle {
    /// Another operator was first.
    #[error("already {}{}", .status.as_str(), .handled.as_ref().map_or_else(String::new, |handled| format!(" by {} at {}", handled.by, handled.at)))]
    AlreadyHandled {
        /// Its status.
        status: DeadLetterStatus,
        /// Who handled it.
        handled: Option<Handled>,
    },
    /// The processed mark may have expired, so nobody can tell whether the message was processed.
    #[error("too old to redrive: processed marks have expired")]
    TooOld,
}

/// The id of the dead letter of a consumer and an event.
pub fn dead_letter_id(consumer: &str, event_id: &EventId) -> Uuid {
    dead_letter_id_of(consumer, "event", event_id.as_str())
}

/// The id of the dead letter of a consumer and a message that is unique by this kind and id.
pub fn dead_letter_id_of(consumer: &str, kind: &str, id: &str) -> Uuid {
    Uuid::new_v5(&NAMESPACE, compose(&[consumer, kind, id]).as_bytes())
}

impl GivenUp {
    /// The id of its dead letter.
    pub fn dead_letter_id(&self) -> Uuid {
        match (&self.identity, &self.event) {
            (Some((kind, id)), _) => dead_letter_id_of(&self.consumer, kind, id),
            (None, Some(event)) => dead_letter_id(&self.consumer, &event.event_id),
            (None, None) => dead_letter_id_of(&self.consumer, "message", &self.message_id),
        }
    }

    /// The dead letter as it is stored: a new one, or the redriven one open again. `None` if it is open already, or if an
    /// operator discarded it.
    pub fn decide(&self, stored: Option<&DeadLetter>, now: Timestamp) -> Option<DeadLetter> {
        let (past, since) = match stored {
            None => (Vec::new(), self.event.as_ref().map_or(now, |event| event.recorded_at)),
            Some(before) => match before.status {
                DeadLetterStatus::Open | DeadLetterStatus::Discarded => return None,
                DeadLetterStatus::Redriven => (before.failures(), before.since),
            },
        };
        Some(DeadLetter {
            dead_letter_id: self.dead_letter_id(),
            queue: self.queue.clone(),
            consumer: self.consumer.clone(),
            event_id: self.event.as_ref().map(|event| event.event_id.clone()),
            event_type: self.event.as_ref().map(|event| event.event_type.clone()),
            reason: self.reason.clone(),
            receive_count: self.receive_count,
            body: self.body.clone(),
            attributes: self.attributes.clone(),
            status: DeadLetterStatus::Open,
            created_at: now,
            since,
            handled: None,
            past,
        })
    }
}

/// The payload of `DeadLetterRedriven` and `DeadLetterDiscarded`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DeadLetterHandled {
    /// The dead letter.
    pub dead_letter_id: Uuid,
    /// The queue of the consumer that had given up.
    pub queue: String,
    /// The consumer.
    pub consumer: String,
    /// The event, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_event_id: Option<EventId>,
    /// The dead letter's version after it.
    pub version: u64,
}

impl DeadLetter {
    /// Whether its consumer's processed mark may have expired. A mark of exactly the retention's age still exists.
    pub fn is_too_old(&self, now: Timestamp, mark_retention: Duration) -> bool {
        self.since.plus(mark_retention) < now
    }

    /// The dead letter after a redrive.
    pub fn redrive(&self, by: &str, now: Timestamp, mark_retention: Duration) -> Result<Self, CannotHandle> {
        let redriven = self.handle(DeadLetterStatus::Redriven, by, now)?;
        if self.is_too_old(now, mark_retention) { Err(CannotHandle::TooOld) } else { Ok(redriven) }
    }

    /// The dead letter after it was discarded.
    pub fn discard(&self, by: &str, now: Timestamp) -> Result<Self, CannotHandle> {
        self.handle(DeadLetterStatus::Discarded, by, now)
    }

    fn handle(&self, status: DeadLetterStatus, by: &str, now: Timestamp) -> Result<Self, CannotHandle> {
        if self.status != DeadLetterStatus::Open {
            return Err(CannotHandle::AlreadyHandled { status: self.status, handled: self.handled.clone() });
        }
        Ok(Self { status, handled: Some(Handled { by: by.to_owned(), at: now }), ..self.clone() })
    }

    /// The event that reports that it was redriven or discarded, given the version that it then has.
    pub fn handled_event(&self, version: u64) -> EventDraft {
        let event_type = if self.status == DeadLetterStatus::Discarded { DISCARDED } else { REDRIVEN };
        let payload = DeadLetterHandled {
            dead_letter_id: self.dead_letter_id,
            queue: self.queue.clone(),
            consumer: self.consumer.clone(),
            failed_event_id: self.event_id.clone(),
            version,
        };
        EventDraft::new(event_type, (Self::KIND, self.dead_letter_id.to_string()), &payload).version(version)
    }

    /// This failure after the earlier ones.
    fn failures(&self) -> Vec<PastFailure> {
        let last = PastFailure { at: self.created_at, reason: self.reason.clone(), receive_count: self.receive_count };
        let all: Vec<PastFailure> = self.past.iter().cloned().chain([last]).collect();
        all[all.len().saturating_sub(PAST_FAILURES)..].to_vec()
    }
}

/// Redrives a dead letter: its next revision and the event that makes the redriver send the message.
pub fn redriven(
    letter: &Stored<DeadLetter>,
    by: &str,
    ctx: &Context,
    mark_retention: Duration,
) -> Result<crate::Commit<()>, CannotHandle> {
    let after = letter.becomes(letter.redrive(by, ctx.now(), mark_retention)?);
    let event = after.handled_event(after.version());
    Ok(ctx.commit().put(&after).event(event))
}

/// Selects dead letters. Absent fields select all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeadLetterFilter {
    /// The consumer's queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The event type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// A part of the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Given up at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Given up before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DeadLetterStatus>,
}

/// A job that redrives many, and its progress: the payload of `DeadLettersRedriveRequested`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RedriveJob {
    /// The job's id.
    pub job_id: Uuid,
    /// The dead letters.
    pub selection: Selection,
    /// How many there were when the job was requested.
    pub matched: u64,
    /// Everything before this is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The number of this part, from 1.
    pub part: u64,
}

/// The dead letters that a job redrives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// These.
    Ids(Vec<Uuid>),
    /// All open ones that match. Bounded in time, so that a message that fails again meanwhile is not redriven again.
    Filter(DeadLetterFilter),
}

impl RedriveJob {
    /// The event that makes the consumer run this part of the job.
    pub fn requested(&self) -> EventDraft {
        EventDraft::new(REDRIVE_REQUESTED, ("RedriveJob", self.job_id.to_string()), self).version(self.part)
    }
}

impl Message for RedriveJob {
    const TYPES: &'static [&'static str] = &[REDRIVE_REQUESTED];

    fn read(event: &Event) -> Result<Self, serde_json::Error> {
        Self::deserialize(&event.payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn at(time: &str) -> Timestamp {
        Timestamp::parse(time).expect("a time")
    }

    fn given_up(reason: &str) -> GivenUp {
        GivenUp {
            queue: "reminders".to_owned(),
            consumer: "reminders".to_owned(),
            event: Some(FailedEvent {
                event_id: EventId::parse("e-1").expect("an id"),
                event_type: "BookBorrowed".to_owned(),
                recorded_at: at("2026-01-01T00:00:00Z"),
            }),
            identity: None,
            message_id: "m-1".to_owned(),
            reason: reason.to_owned(),
            receive_count: 5,
            body: "{}".to_owned(),
            attributes: BTreeMap::new(),
        }
    }

    fn open() -> DeadLetter {
        given_up("first").decide(None, at("2026-01-02T00:00:00Z")).expect("a dead letter")
    }

    #[test]
    fn a_consumer_has_one_dead_letter_per_event() {
        let other = GivenUp { message_id: "m-2".to_owned(), ..given_up("second") };
        assert_eq!(other.dead_letter_id(), open().dead_letter_id);
        assert_eq!(other.decide(Some(&open()), at("2026-01-03T00:00:00Z")), None, "an open one stays as it is");
        let nameless = |message: &str| GivenUp { event: None, message_id: message.to_owned(), ..given_up("x") };
        assert_ne!(nameless("m-1").dead_letter_id(), nameless("m-2").dead_letter_id());
        let elsewhere = GivenUp { consumer: "fines".to_owned(), ..given_up("x") };
        assert_ne!(elsewhere.dead_letter_id(), open().dead_letter_id);
    }

    #[test]
    fn a_failure_after_a_redrive_opens_the_letter_again() {
        let redriven = open().redrive("op", at("2026-01-02T01:00:00Z"), DAY * 30).expect("redriven");
        let again = given_up("second").decide(Some(&redriven), at("2026-01-02T02:00:00Z")).expect("open again");
        assert_eq!((again.status, again.since), (DeadLetterStatus::Open, open().since));
        assert_eq!(again.past.iter().map(|past| past.reason.as_str()).collect::<Vec<_>>(), ["first"]);
    }

    #[test]
    fn a_discarded_letter_stays_discarded() {
        let discarded = open().discard("op", at("2026-01-02T01:00:00Z")).expect("discarded");
        assert_eq!(given_up("second").decide(Some(&discarded), at("2026-01-02T02:00:00Z")), None);
    }

    #[test]
    fn a_refusal_names_the_operator_who_was_first() {
        let discarded = open().discard("rosa", at("2026-01-02T01:00:00Z")).expect("discarded");
        let refusal = discarded.redrive("op", at("2026-01-02T02:00:00Z"), DAY * 30).expect_err("refused");
        assert_eq!(refusal.to_string(), "already DISCARDED by rosa at 2026-01-02T01:00:00.000Z");
    }

    #[test]
    fn a_redrive_is_refused_past_the_retention_of_marks_and_not_at_it() {
        assert!(open().redrive("op", at("2026-01-31T00:00:00Z"), DAY * 30).is_ok());
        let refusal = open().redrive("op", at("2026-01-31T00:00:00.001Z"), DAY * 30);
        assert_eq!(refusal, Err(CannotHandle::TooOld));
        assert!(open().discard("op", at("2027-01-01T00:00:00Z")).is_ok(), "a discard is never too late");
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
