//! Overdue outbox entries: claim → publish → finalise.
//!
//! A claim is one conditional update with a lease, so any number of sweepers share the work; a lease that has ended is
//! taken over. An entry is finalised only by the claim that still holds it. A crash anywhere leaves at worst a second
//! message, which consumers skip by their marks.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{Event, EventId, Time};
use futures_util::future::join_all;
use ledger::LedgerError;
use ledger::outbox::{Claimed, Holder, Unpublished, UnpublishedFate};
use messaging::publisher::{Publication, Published};
use runtime::metrics::Relayed;
use uuid::Uuid;

use crate::{Sweep, Swept};

/// No new batch begins after this long: what the function's timeout leaves room for.
pub(crate) const BUDGET: Duration = Duration::from_secs(20);

/// How many entries are claimed or finalised at the same time.
pub(crate) const AT_ONCE: usize = 10;

/// How one claimed entry ended.
enum Ended {
    Published(Duration),
    Unpublished {
        failed: bool,
    },
    /// The lease had ended, and somebody else has it.
    Lost,
}

impl Sweep {
    /// Publishes what is overdue, batch by batch, until nothing is, a queue is away, or the time is up.
    pub(crate) async fn sweep_outbox(&self) -> Result<Swept, LedgerError> {
        let begun = tokio::time::Instant::now();
        let mut swept = Swept::default();
        while begun.elapsed() < BUDGET {
            let overdue = self.events.overdue(&self.ledger, Time::now(), self.batch).await?;
            if overdue.is_empty() {
                break;
            }
            let relayed = self.sweep_batch(&overdue).await?;
            swept.published += relayed.published;
            swept.unpublished += relayed.unpublished;
            self.metrics.relayed("sweep", &relayed);
            // Others claimed all of it, or nothing gets out now: the next run is soon enough. Behind a full batch that is
            // stuck there may be entries for other queues.
            if relayed.published == 0 && overdue.len() < usize::from(self.batch) {
                break;
            }
        }
        Ok(swept)
    }

    async fn sweep_batch(&self, overdue: &[EventId]) -> Result<Relayed, LedgerError> {
        let claim = Uuid::now_v7().to_string();
        let now = Time::now();
        let lease = (now, now.plus(self.lease));
        let mut claimed: Vec<Claimed> = Vec::with_capacity(overdue.len());
        for some in overdue.chunks(AT_ONCE) {
            let claims = join_all(some.iter().map(|event_id| self.claim(event_id, &claim, lease))).await;
            claimed.extend(claims.into_iter().flatten());
        }
        let readable: Vec<(&Event, &Claimed)> =
            claimed.iter().filter_map(|claimed| Some((claimed.event.as_ref().ok()?, claimed))).collect();
        let publications: Vec<Publication<'_>> = readable
            .iter()
            .map(|(event, claimed)| Publication { event, delivered_to: &claimed.delivered_to })
            .collect();
        let published = self.publisher.publish(&publications).await;
        let mut ended: Vec<Result<Ended, LedgerError>> = Vec::with_capacity(claimed.len());
        for (some, published) in readable.chunks(AT_ONCE).zip(published.chunks(AT_ONCE)) {
            let finished = some.iter().zip(published);
            let finished =
                finished.map(|((event, claimed), published)| self.finalise(event, claimed, &claim, published));
            ended.extend(join_all(finished).await);
        }
        for unreadable in claimed.iter().filter(|claimed| claimed.event.is_err()) {
            ended.push(self.give_up(unreadable, &claim).await);
        }
        let mut relayed = Relayed::default();
        for ended in ended {
            match ended? {
                Ended::Published(lag) => {
                    relayed.published += 1;
                    relayed.lag.push(lag);
                }
                Ended::Unpublished { failed } => {
                    relayed.unpublished += 1;
                    relayed.failed += u32::from(failed);
                }
                Ended::Lost => {
                    tracing::warn!(claim, "lease ended before the entry was finalised, or the answer was lost")
                }
            }
        }
        tracing::info!(claim, claimed = claimed.len(), published = relayed.published, "overdue entries swept");
        Ok(relayed)
    }

    /// An entry that cannot be claimed now is left for the next run; if the claim was made and its answer lost, until
    /// its lease ends.
    async fn claim(&self, event_id: &EventId, claim: &str, lease: (Time, Time)) -> Option<Claimed> {
        self.events.claim(&self.ledger, event_id, claim, lease).await.unwrap_or_else(|error| {
            tracing::warn!(%event_id, %error, "overdue entry not claimed");
            None
        })
    }

    async fn finalise(
        &self,
        event: &Event,
        claimed: &Claimed,
        claim: &str,
        published: &Published,
    ) -> Result<Ended, LedgerError> {
        let now = Time::now();
        let entry = (&event.event_id, Holder::Claim(claim));
        let Err(error) = &published.outcome else {
            let expires = self.retention.map(|retention| now.plus(retention));
            let mine = self.events.mark_published(&self.ledger, entry, now, expires).await?;
            return Ok(if mine { Ended::Published(now.since(event.recorded_at)) } else { Ended::Lost });
        };
        let fate = self.persistence.decide(error, claimed.attempt_count, now, rand::random());
        let (event_id, reason) = (&event.event_id, error.to_string());
        tracing::warn!(%event_id, reason, "overdue entry did not get out");
        let delivered_to = published.delivered_to.clone();
        let counts = matches!(fate, UnpublishedFate::Counted(_) | UnpublishedFate::GivenUp);
        let attempt_count = claimed.attempt_count + u32::from(counts);
        let unpublished = Unpublished { now, reason, delivered_to, attempt_count, fate };
        let mine = self.events.mark_unpublished(&self.ledger, entry, &unpublished).await?;
        let failed = fate == UnpublishedFate::GivenUp;
        Ok(if mine { Ended::Unpublished { failed } } else { Ended::Lost })
    }

    /// No attempt can publish what cannot be read: an operator's case.
    async fn give_up(&self, claimed: &Claimed, claim: &str) -> Result<Ended, LedgerError> {
        let reason = claimed.event.as_ref().err().map(ToString::to_string).unwrap_or_default();
        tracing::error!(event_id = %claimed.event_id, reason, "outbox entry cannot be read");
        let fate = UnpublishedFate::Unreadable;
        let (now, attempt_count) = (Time::now(), claimed.attempt_count);
        let unpublished = Unpublished { now, reason, delivered_to: BTreeSet::new(), attempt_count, fate };
        let entry = (&claimed.event_id, Holder::Claim(claim));
        let mine = self.events.mark_unpublished(&self.ledger, entry, &unpublished).await?;
        Ok(if mine { Ended::Unpublished { failed: true } } else { Ended::Lost })
    }
}
