//! The transitions of an outbox entry, each one conditional update.

use std::collections::BTreeSet;

use belfry_core::commit::Expression;
use belfry_core::item::{AttributeValue, number, text, text_of};
use belfry_core::{Corrupt, EventId, OutboxStatus, Timestamp, Write};

use super::due::DuePartition;
use super::entry::{StoredEvent, attempt_count, delivered_to, place, read_stored};
use super::publish::{Unpublished, UnpublishedOutcome};
use crate::{Belfry, Error};

/// What the relay finds of an entry before it publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PublishState {
    /// To be published, to all destinations but these.
    Open { delivered_to: BTreeSet<String> },
    /// PUBLISHED already.
    Published,
    /// With a sweeper, an operator's case, or gone.
    NotForTheRelay,
}

/// Who changes an entry, and therefore under which condition.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Holder<'a> {
    /// The relay, which claims nothing.
    Relay,
    /// The sweeper's claim of this name.
    Claim(&'a str),
}

/// An entry that a sweeper has claimed.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) event_id: EventId,
    pub(crate) stored: Result<StoredEvent, Corrupt>,
    pub(crate) attempt_count: u32,
    pub(crate) delivered_to: BTreeSet<String>,
}

/// The attributes of a claim, which end with it.
const CLAIM: &str = "#locked_by, #locked_at, #lease_until, #wake";

fn status(status: OutboxStatus) -> AttributeValue {
    text(status.as_str())
}

impl Holder<'_> {
    fn condition(self) -> (&'static str, AttributeValue) {
        match self {
            Self::Relay => ("attribute_exists(#event_id) AND #status = :holder", status(OutboxStatus::Pending)),
            Self::Claim(claim) => ("#locked_by = :holder", text(claim)),
        }
    }
}

fn update(event_id: &EventId, set: &str, condition: &str, values: Vec<(&str, AttributeValue)>) -> Write {
    Write::update(place(event_id), Expression::new(set, values)).when(Expression::new(condition, []))
}

impl Belfry {
    /// Reads the states of these entries consistently.
    pub(crate) async fn publish_states(&self, event_ids: &[EventId]) -> Result<Vec<PublishState>, Error> {
        let found = self.get_all(event_ids.iter().map(place), None).await?;
        let state = |event_id: &EventId| {
            // An entry that is gone was published, and its retention is over.
            let Some(item) = found.0.get(&place(event_id)) else { return PublishState::NotForTheRelay };
            match text_of(item, "status").and_then(OutboxStatus::parse) {
                Some(OutboxStatus::Published) => PublishState::Published,
                Some(OutboxStatus::InFlight | OutboxStatus::Failed) => PublishState::NotForTheRelay,
                // Once a queue has refused an entry it is the sweeper's: a batch that comes again at once must not use
                // up its attempts.
                Some(OutboxStatus::Pending) if attempt_count(item) > 0 => PublishState::NotForTheRelay,
                // A status that this release cannot read is not known to be PUBLISHED: at worst a second message.
                Some(OutboxStatus::Pending) | None => PublishState::Open { delivered_to: delivered_to(item) },
            }
        };
        Ok(event_ids.iter().map(state).collect())
    }

    /// Marks an entry PUBLISHED: every destination has acknowledged it. It leaves the index, and starts to expire if
    /// events expire. Returns whether the entry was still the holder's to mark.
    pub(crate) async fn mark_published(&self, event_id: &EventId, holder: Holder<'_>) -> Result<bool, Error> {
        let now = self.now();
        let (condition, held) = match holder {
            // Every queue has it, which is true whoever has claimed it meanwhile.
            Holder::Relay => ("attribute_exists(#event_id) AND #status <> :holder", status(OutboxStatus::Published)),
            Holder::Claim(_) => holder.condition(),
        };
        let mut values = vec![(":published", status(OutboxStatus::Published)), (":now", text(now)), (":holder", held)];
        let mut set = "SET #status = :published, #published_at = :now".to_owned();
        let expiry = belfry_core::item::expiry(now, self.0.config.event_retention);
        if let Some((_, expires_at)) = expiry {
            set.push_str(", #expires_at = :expires");
            values.push((":expires", expires_at));
        }
        let set = format!("{set} REMOVE #unpublished, #due_at, #next_retry_at, {CLAIM}");
        Ok(self.update(&update(event_id, &set, condition, values)).await?.is_some())
    }

    /// Records an attempt that did not reach every destination. Returns whether the entry was still the holder's.
    pub(crate) async fn mark_unpublished(
        &self,
        event_id: &EventId,
        holder: Holder<'_>,
        unpublished: &Unpublished,
    ) -> Result<bool, Error> {
        let now = self.now();
        let (condition, held) = holder.condition();
        let (next, partition, due_at) = match unpublished.outcome {
            UnpublishedOutcome::Postponed(at) | UnpublishedOutcome::Counted(at) => {
                (OutboxStatus::Pending, DuePartition::Open, at)
            }
            UnpublishedOutcome::GivenUp | UnpublishedOutcome::Unreadable => {
                (OutboxStatus::Failed, DuePartition::Failed, now)
            }
        };
        // The count is set and not incremented: after a lost response the attempt must not count twice.
        let mut set = format!(
            "SET #status = :status, #unpublished = :partition, #due_at = :due, #last_error = :reason, \
             #last_error_at = :now, #next_retry_at = :due, #attempt_count = :attempts REMOVE {CLAIM}"
        );
        let mut values = vec![
            (":status", status(next)),
            (":partition", text(partition.of(event_id))),
            (":due", text(due_at)),
            (":reason", text(&unpublished.reason)),
            (":now", text(now)),
            (":attempts", number(unpublished.attempt_count)),
            (":holder", held),
        ];
        if !unpublished.delivered_to.is_empty() {
            set.push_str(" ADD #delivered_to :delivered");
            values.push((":delivered", AttributeValue::Ss(unpublished.delivered_to.iter().cloned().collect())));
        }
        Ok(self.update(&update(event_id, &set, condition, values)).await?.is_some())
    }

    /// Claims an overdue entry until the lease ends. `None` if another sweeper was first, or there is nothing to do.
    pub(crate) async fn claim_entry(&self, event_id: &EventId, claim: &str) -> Result<Option<Claimed>, Error> {
        let now = self.now();
        let lease_until = now.plus(self.0.config.outbox_lease);
        let set = "SET #status = :flying, #locked_by = :claim, #locked_at = :now, #lease_until = :until, \
                   #unpublished = :partition, #due_at = :until REMOVE #wake";
        // The last condition: the claim was made, and its response was lost.
        let condition = "(#status = :pending AND #due_at <= :now) OR (#status = :flying AND #lease_until <= :now) OR \
                         #locked_by = :claim";
        let values = vec![
            (":flying", status(OutboxStatus::InFlight)),
            (":pending", status(OutboxStatus::Pending)),
            (":claim", text(claim)),
            (":now", text(now)),
            (":until", text(lease_until)),
            (":partition", text(DuePartition::InFlight.of(event_id))),
        ];
        let Some(item) = self.update(&update(event_id, set, condition, values)).await? else { return Ok(None) };
        Ok(Some(Claimed {
            event_id: event_id.clone(),
            stored: read_stored(&item),
            attempt_count: attempt_count(&item),
            delivered_to: delivered_to(&item),
        }))
    }
}

/// The write that publishes an entry again to every destination: PENDING, due at once, no attempt counted. The attribute
/// `wake` lets the stream's filter pass the change to the relay; the next transition removes it.
pub fn republish(event_id: &EventId, before: OutboxStatus, now: Timestamp) -> Write {
    let set = "SET #status = :pending, #attempt_count = :zero, #unpublished = :partition, #due_at = :now, #wake = :now \
               REMOVE #locked_by, #locked_at, #lease_until, #next_retry_at, #delivered_to, #published_at, #expires_at";
    let values = vec![
        (":pending", status(OutboxStatus::Pending)),
        (":before", status(before)),
        (":zero", number(0)),
        (":partition", text(DuePartition::Open.of(event_id))),
        (":now", text(now)),
    ];
    update(event_id, set, "#status = :before", values)
}
