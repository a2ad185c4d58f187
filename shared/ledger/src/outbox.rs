//! The outbox: an event's way from committed to published, as states of its item in the table of events.
//!
//! PENDING → PUBLISHED by the stream; PENDING → IN_FLIGHT (claimed, with a lease) → PUBLISHED by a sweeper; FAILED where
//! it cannot be published as it stands. Each step is one conditional update. The sparse index `unpublished` holds what
//! is not PUBLISHED, by shelf and by when it is due; it only finds candidates, the conditions decide.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::event::OutboxStatus;
use domain::{Event, EventId, Time};
use serde::Deserialize;

use crate::commit::{Change, Write};
use crate::error::{Corrupt, LedgerError};
use crate::item::{Key, from_item, number, text};
use crate::{Events, Ledger};

mod entry;
mod shelf;

pub use entry::Entry;
pub use shelf::Shelf;

/// How an entry stands, as far as publishing it is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is to be published, to all subscribed queues but these.
    Open {
        /// The queues that have it already.
        delivered_to: BTreeSet<String>,
    },
    /// It is published, in a sweeper's hands, an operator's case, or gone: not for the stream to publish.
    Settled,
}

/// Who changes an entry, and therefore under which condition.
#[derive(Debug, Clone, Copy)]
pub enum Holder<'a> {
    /// The relay behind the stream, which claims nothing.
    Stream,
    /// The sweeper's claim of this name.
    Claim(&'a str),
}

impl Holder<'_> {
    fn condition(&self) -> (&'static str, AttributeValue) {
        match self {
            Self::Stream => ("attribute_exists(event_id) AND #status = :holder", text(OutboxStatus::Pending.as_str())),
            Self::Claim(claim) => ("locked_by = :holder", text(*claim)),
        }
    }
}

/// An attempt to publish that did not get everywhere.
#[derive(Debug, Clone)]
pub struct Unpublished {
    /// When.
    pub now: Time,
    /// Why.
    pub reason: String,
    /// The queues that have it.
    pub delivered_to: BTreeSet<String>,
    /// How many attempts have counted now.
    pub attempt_count: u32,
    /// What becomes of the entry.
    pub fate: UnpublishedFate,
}

/// What becomes of an entry that did not get out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnpublishedFate {
    /// A queue was out of reach: again at that time, and the attempt does not count.
    Postponed(Time),
    /// A queue refused it: again at that time, and the attempt counts.
    Counted(Time),
    /// It was refused once more than is allowed: an operator's case.
    GivenUp,
    /// It cannot be read, and no attempt will change that: an operator's case at once.
    Unreadable,
}

/// An entry in a sweeper's hands.
#[derive(Debug)]
pub struct Claimed {
    /// Its id.
    pub event_id: EventId,
    /// The event, if it can be read.
    pub event: Result<Event, Corrupt>,
    /// How many attempts have counted.
    pub attempt_count: u32,
    /// The queues that have it.
    pub delivered_to: BTreeSet<String>,
}

#[derive(Deserialize)]
struct StandingRow {
    status: OutboxStatus,
    #[serde(flatten)]
    attempts: AttemptsRow,
}

#[derive(Deserialize, Default)]
struct AttemptsRow {
    #[serde(default)]
    attempt_count: u32,
    #[serde(default)]
    delivered_to: BTreeSet<String>,
}

impl AttemptsRow {
    fn open(self) -> Standing {
        Standing::Open { delivered_to: self.delivered_to }
    }
}

/// What a claim sets, and what ends with it.
const UNLOCK: &str = "locked_by, locked_at, lease_until, wake";

impl Events {
    /// How these entries stand, read consistently.
    pub async fn standing(&self, ledger: &Ledger, event_ids: &[EventId]) -> Result<Vec<Standing>, LedgerError> {
        let keys: Vec<Key> = event_ids.iter().map(|id| self.key(id)).collect();
        let mut distinct = keys.clone();
        distinct.sort_by(|a, b| a.hash.1.cmp(&b.hash.1));
        distinct.dedup();
        let found = ledger.get_all(&distinct).await?;
        let standing = |key: &Key| match found.get(key) {
            // An entry that is gone has been published and has outlived its retention.
            None => Standing::Settled,
            Some(item) => match from_item::<StandingRow>(&self.table, item.clone()) {
                // What a queue has refused before is the sweeper's: a batch that comes back at once must not use its
                // attempts up.
                Ok(StandingRow { status: OutboxStatus::Pending, attempts }) if attempts.attempt_count == 0 => {
                    attempts.open()
                }
                Ok(_) => Standing::Settled,
                // A status that this build cannot read is not known to be PUBLISHED: at worst a second message.
                Err(_) => AttemptsRow::default().open(),
            },
        };
        Ok(keys.iter().map(standing).collect())
    }

    /// Marks an entry PUBLISHED: every subscribed queue has acknowledged it. It leaves the index of unpublished entries
    /// and from now on expires, if anything does. Says whether the entry was still the holder's to mark.
    pub async fn mark_published(
        &self,
        ledger: &Ledger,
        (event_id, holder): (&EventId, Holder<'_>),
        now: Time,
        expires: Option<Time>,
    ) -> Result<bool, LedgerError> {
        let published = text(OutboxStatus::Published.as_str());
        let (condition, held) = match holder {
            // Every queue has it: that is true whoever has claimed it meanwhile.
            Holder::Stream => ("attribute_exists(event_id) AND #status <> :holder", published.clone()),
            Holder::Claim(_) => holder.condition(),
        };
        let mut values = vec![(":published", published), (":now", text(now)), (":holder", held)];
        let mut set = "SET #status = :published, published_at = :now".to_owned();
        if let Some(expires) = expires {
            set.push_str(", expires_at = :expires");
            // TTL deletes what lies before now: one second more, and what is exactly of that age stays.
            values.push((":expires", number(expires.as_seconds() + 1)));
        }
        let expression = format!("{set} REMOVE unpublished, due_at, next_retry_at, {UNLOCK}");
        let change = Change { expression, condition: condition.to_owned(), values };
        Ok(ledger.change(&self.key(event_id), &change).await?.is_some())
    }

    /// Records an attempt that did not get everywhere. Says whether the entry was still the holder's.
    pub async fn mark_unpublished(
        &self,
        ledger: &Ledger,
        (event_id, holder): (&EventId, Holder<'_>),
        unpublished: &Unpublished,
    ) -> Result<bool, LedgerError> {
        let (condition, held) = holder.condition();
        let (status, shelf, due_at) = match unpublished.fate {
            UnpublishedFate::Postponed(at) | UnpublishedFate::Counted(at) => (OutboxStatus::Pending, Shelf::Open, at),
            UnpublishedFate::GivenUp | UnpublishedFate::Unreadable => {
                (OutboxStatus::Failed, Shelf::Failed, unpublished.now)
            }
        };
        let mut set = "SET #status = :status, unpublished = :shelf, due_at = :due, last_error = :reason, \
                       last_error_at = :now, next_retry_at = :due"
            .to_owned();
        let mut values = vec![
            (":status", text(status.as_str())),
            (":shelf", text(shelf.partition_of(event_id))),
            (":due", text(due_at)),
            (":reason", text(&unpublished.reason)),
            (":now", text(unpublished.now)),
            (":holder", held),
        ];
        // The number itself and not one more: a lost answer must not count the attempt twice.
        set.push_str(", attempt_count = :attempts");
        values.push((":attempts", number(unpublished.attempt_count)));
        let mut expression = format!("{set} REMOVE {UNLOCK}");
        if !unpublished.delivered_to.is_empty() {
            expression.push_str(" ADD delivered_to :delivered");
            values.push((":delivered", AttributeValue::Ss(unpublished.delivered_to.iter().cloned().collect())));
        }
        let change = Change { expression, condition: condition.to_owned(), values };
        Ok(ledger.change(&self.key(event_id), &change).await?.is_some())
    }

    /// Claims an overdue entry until `lease_until`; `None` where somebody else was first, or there is nothing to do.
    pub async fn claim(
        &self,
        ledger: &Ledger,
        event_id: &EventId,
        claim: &str,
        (now, lease_until): (Time, Time),
    ) -> Result<Option<Claimed>, LedgerError> {
        let change = Change {
            expression: "SET #status = :flying, locked_by = :claim, locked_at = :now, lease_until = :until, \
                         unpublished = :shelf, due_at = :until REMOVE wake"
                .to_owned(),
            // The last one: the claim was made, and its answer was lost.
            condition: "(#status = :pending AND due_at <= :now) OR (#status = :flying AND lease_until <= :now) OR \
                        locked_by = :claim"
                .to_owned(),
            values: vec![
                (":flying", text(OutboxStatus::InFlight.as_str())),
                (":pending", text(OutboxStatus::Pending.as_str())),
                (":claim", text(claim)),
                (":now", text(now)),
                (":until", text(lease_until)),
                (":shelf", text(Shelf::InFlight.partition_of(event_id))),
            ],
        };
        let Some(item) = ledger.change(&self.key(event_id), &change).await? else { return Ok(None) };
        // Claimed it is, whatever it looks like: what cannot be read is for its holder to give up.
        let attempts = from_item::<AttemptsRow>(&self.table, item.clone()).unwrap_or_default();
        Ok(Some(Claimed {
            event_id: event_id.clone(),
            event: self.parse(item),
            attempt_count: attempts.attempt_count,
            delivered_to: attempts.delivered_to,
        }))
    }

    /// Sends an entry on its way again, to every queue: PENDING, due at once, with no attempt counted. The attribute
    /// `wake` lets the stream's filter pass the change to the relay; whatever is done next removes it.
    pub fn republish(&self, event_id: &EventId, standing: OutboxStatus, now: Time) -> Result<Write, LedgerError> {
        let change = Change {
            expression: "SET #status = :pending, attempt_count = :zero, unpublished = :shelf, due_at = :now, wake = :now \
                         REMOVE locked_by, locked_at, lease_until, next_retry_at, delivered_to, published_at, expires_at"
                .to_owned(),
            condition: "#status = :standing".to_owned(),
            values: vec![
                (":pending", text(OutboxStatus::Pending.as_str())),
                (":standing", text(standing.as_str())),
                (":zero", number(0)),
                (":shelf", text(Shelf::Open.partition_of(event_id))),
                (":now", text(now)),
            ],
        };
        Write::update(self.key(event_id), &change)
    }
}
