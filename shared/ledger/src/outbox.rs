//! The outbox: an event's way from committed to published, as states of its item in the table of events.
//!
//! PENDING → PUBLISHED by the stream; PENDING → IN_FLIGHT (claimed, with a lease) → PUBLISHED by a sweeper; FAILED where
//! it cannot be published as it stands. Each step is one conditional update. The sparse index `unpublished` holds what
//! is not PUBLISHED, by shelf and by when it is due; it only finds candidates, the conditions decide.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::event::OutboxStatus;
use domain::id::compose;
use domain::{Event, EventId, Time, Trace};
use futures_util::future::try_join_all;
use serde::Deserialize;

use crate::attempt::{Fate, fate};
use crate::commit::{Change, Write};
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, from_item, number, text};
use crate::read::{Found, Page};
use crate::{Events, Ledger};

/// How many partitions each shelf is spread over, so that no single one takes all writes.
const SPREAD: u32 = 8;

/// How many partitions are looked at the same time by what runs every minute.
const AT_ONCE: usize = 4;

/// A part of the index of unpublished entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// PENDING; due when the stream should have published it, or at its next retry.
    Open,
    /// Claimed; due when the lease ends.
    InFlight,
    /// Given up on; since when.
    Failed,
}

impl Shelf {
    fn partition(self, spread: u32) -> String {
        let shelf = match self {
            Self::Open => "OPEN",
            Self::InFlight => "IN_FLIGHT",
            Self::Failed => "FAILED",
        };
        compose(&[shelf, &spread.to_string()])
    }

    /// The partition that holds this entry. FNV-1a over the id: any spread will do, it must only be the same everywhere.
    pub(crate) fn partition_of(self, event_id: &EventId) -> String {
        let bytes = event_id.as_str().bytes();
        let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        self.partition(hash % SPREAD)
    }
}

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
    fn read(event_id: &EventId, item: &Item) -> Self {
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

#[derive(Deserialize)]
struct Due {
    event_id: EventId,
    due_at: String,
}

impl Due {
    fn place(&self) -> String {
        format!("{}#{}", self.due_at, self.event_id)
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
            values.push((":expires", number(expires.as_seconds())));
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

    /// At most `limit` entries that nobody has published in time, or whose sweeper's lease has ended. A query per
    /// partition of the two shelves.
    pub async fn overdue(&self, ledger: &Ledger, now: Time, limit: u16) -> Result<Vec<EventId>, LedgerError> {
        let shelves = [Shelf::Open, Shelf::InFlight].into_iter();
        let partitions = shelves.flat_map(|shelf| (0..SPREAD).map(move |spread| shelf.partition(spread)));
        let until = now.to_string();
        let mut due: Vec<Due> = Vec::new();
        for some in partitions.collect::<Vec<_>>().chunks(AT_ONCE) {
            let queries = some.iter().map(|partition| self.due(ledger, partition, (None, &until), limit));
            due.extend(try_join_all(queries).await?.into_iter().flatten());
        }
        due.sort_by(|a, b| a.due_at.cmp(&b.due_at));
        due.truncate(limit.into());
        Ok(due.into_iter().map(|due| due.event_id).collect())
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
            condition: "(#status = :pending AND due_at <= :now) OR (#status = :flying AND lease_until <= :now)"
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

    /// One page of a shelf, oldest first, from behind `after`. Entries that have left it meanwhile are not shown.
    pub async fn on_shelf(
        &self,
        ledger: &Ledger,
        shelf: Shelf,
        limit: u16,
        after: Option<&str>,
    ) -> Result<Page<Entry>, LedgerError> {
        let partitions: Vec<String> = (0..SPREAD).map(|spread| shelf.partition(spread)).collect();
        let queries = partitions.iter().map(|partition| self.due(ledger, partition, (after, "~"), limit + 1));
        let mut due: Vec<Due> = try_join_all(queries).await?.into_iter().flatten().collect();
        due.sort_by_key(Due::place);
        let more = due.len() > limit.into();
        due.truncate(limit.into());
        let next = due.last().filter(|_| more).map(Due::place);
        let keys: Vec<Key> = due.iter().map(|due| self.key(&due.event_id)).collect();
        let found = ledger.get_all(&keys).await?;
        let rows = due.iter().zip(&keys).filter_map(|(due, key)| Some(Entry::read(&due.event_id, found.get(key)?)));
        Ok(Page { rows: rows.collect(), next })
    }

    /// How many entries a shelf holds.
    pub async fn shelf_size(&self, ledger: &Ledger, shelf: Shelf) -> Result<usize, LedgerError> {
        let partitions: Vec<String> = (0..SPREAD).map(|spread| shelf.partition(spread)).collect();
        let queries = partitions.iter().map(|partition| self.due(ledger, partition, (None, "~"), u16::MAX));
        Ok(try_join_all(queries).await?.into_iter().map(|due| due.len()).sum())
    }

    /// The entry among the items that were found.
    pub fn entry(&self, found: &Found, event_id: &EventId) -> Option<Entry> {
        found.get(&self.key(event_id)).map(|item| Entry::read(event_id, item))
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

    /// At most `limit` entries of one partition that are due until then, from behind the place `after`.
    async fn due(
        &self,
        ledger: &Ledger,
        partition: &str,
        (after, until): (Option<&str>, &str),
        limit: u16,
    ) -> Result<Vec<Due>, LedgerError> {
        // The index knows no order among entries that are due at the same moment; their places do.
        let low = after.and_then(|after| after.split_once('#')).map_or("0", |(due_at, _)| due_at);
        let mut found: Vec<Due> = Vec::new();
        let mut start: Option<Item> = None;
        loop {
            let (items, next) = ledger
                .attempt(|| async {
                    let request = ledger
                        .client
                        .query()
                        .table_name(&self.table)
                        .index_name("unpublished")
                        .key_condition_expression("unpublished = :shelf AND due_at BETWEEN :low AND :high")
                        .expression_attribute_values(":shelf", text(partition))
                        .expression_attribute_values(":low", text(low))
                        .expression_attribute_values(":high", text(until))
                        .set_exclusive_start_key(start.clone())
                        .limit(i32::from(limit));
                    match request.send().await {
                        Ok(output) => Fate::Done((output.items.unwrap_or_default(), output.last_evaluated_key)),
                        Err(error) => fate(&error),
                    }
                })
                .await?;
            for item in items {
                let due: Due = from_item(&self.table, item)?;
                if after.is_none_or(|after| due.place().as_str() > after) {
                    found.push(due);
                }
            }
            start = next;
            if start.is_none() || found.len() >= limit.into() {
                return Ok(found);
            }
        }
    }
}
