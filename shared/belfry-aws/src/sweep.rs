//! The sweeper: publishes the events that the stream did not get out. Claim, publish, finalise.
//!
//! A claim is one conditional update with a lease, so any number of sweepers share the work, and a lease that has ended is
//! taken over. Only the claim that still holds an entry finalises it. A crash leaves at worst a second message, which
//! consumers skip.

use std::collections::BTreeSet;
use std::task::Poll;
use std::time::Duration;

use belfry_core::EventId;
use futures_util::future::{BoxFuture, join_all};
use lambda_runtime::LambdaEvent;
use uuid::Uuid;

use crate::metrics::Relayed;
use crate::outbox::{self, Claimed, Holder, Publication, Published, StoredEvent, Unpublished, UnpublishedOutcome};
use crate::{Belfry, Error};

/// How many entries are claimed or finalised at the same time.
const PARALLEL_UPDATES: usize = 10;

/// What a sweep came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Swept {
    /// Events that were published.
    pub published: u32,
    /// Events that did not get out this time.
    pub unpublished: u32,
}

/// The sweeper, as a Lambda handler for a schedule. The event does not matter.
#[derive(Debug, Clone)]
pub struct Sweeper {
    belfry: Belfry,
}

/// The sweeper of the outbox. Run it every minute.
pub fn sweeper(belfry: &Belfry) -> Sweeper {
    Sweeper { belfry: belfry.clone() }
}

/// How long a run of [`Sweeper`] starts new batches.
const BUDGET: Duration = Duration::from_secs(20);

impl tower::Service<LambdaEvent<serde_json::Value>> for Sweeper {
    type Response = Swept;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Swept, Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: LambdaEvent<serde_json::Value>) -> Self::Future {
        let belfry = self.belfry.clone();
        Box::pin(async move { belfry.sweep_outbox(BUDGET).await })
    }
}

enum EntryOutcome {
    Published(Duration),
    Unpublished {
        failed: bool,
    },
    /// The lease had ended, and another sweeper has it.
    Lost,
}

impl Belfry {
    /// Publishes overdue events, batch by batch, until there are none, a queue is unavailable, or `budget` is used up.
    pub async fn sweep_outbox(&self, budget: Duration) -> Result<Swept, Error> {
        let batch = self.0.config.outbox_batch;
        let started = tokio::time::Instant::now();
        let mut swept = Swept::default();
        while started.elapsed() < budget {
            let overdue = self.overdue(self.now(), batch).await?;
            if overdue.is_empty() {
                break;
            }
            let relayed = self.sweep_batch(&overdue).await?;
            swept.published += relayed.published;
            swept.unpublished += relayed.unpublished;
            self.0.metrics.relayed("sweep", &relayed);
            // Other sweepers claimed all of it, or nothing gets out now: the next run is soon enough. Behind a full batch
            // that is stuck there may be events for other queues.
            if relayed.published == 0 && overdue.len() < usize::from(batch) {
                break;
            }
        }
        Ok(swept)
    }

    async fn sweep_batch(&self, overdue: &[EventId]) -> Result<Relayed, Error> {
        let claim = Uuid::now_v7().to_string();
        let mut claimed: Vec<Claimed> = Vec::with_capacity(overdue.len());
        for event_ids in overdue.chunks(PARALLEL_UPDATES) {
            let claims = join_all(event_ids.iter().map(|event_id| self.try_claim(event_id, &claim))).await;
            claimed.extend(claims.into_iter().flatten());
        }
        let readable: Vec<(&StoredEvent, &Claimed)> =
            claimed.iter().filter_map(|claimed| Some((claimed.stored.as_ref().ok()?, claimed))).collect();
        let publications: Vec<Publication<'_>> = readable
            .iter()
            .map(|(stored, claimed)| Publication { stored, delivered_to: &claimed.delivered_to })
            .collect();
        let published = self.publish(&publications).await;
        let mut outcomes: Vec<Result<EntryOutcome, Error>> = Vec::with_capacity(claimed.len());
        for (entries, published) in readable.chunks(PARALLEL_UPDATES).zip(published.chunks(PARALLEL_UPDATES)) {
            let finalised = entries
                .iter()
                .zip(published)
                .map(|((stored, claimed), published)| self.finalise(stored, claimed, &claim, published));
            outcomes.extend(join_all(finalised).await);
        }
        for unreadable in claimed.iter().filter(|claimed| claimed.stored.is_err()) {
            outcomes.push(self.give_up_claimed(unreadable, &claim).await);
        }
        let mut relayed = Relayed::default();
        for outcome in outcomes {
            match outcome? {
                EntryOutcome::Published(lag) => {
                    relayed.published += 1;
                    relayed.lag.push(lag);
                }
                EntryOutcome::Unpublished { failed } => {
                    relayed.unpublished += 1;
                    relayed.failed += u32::from(failed);
                }
                EntryOutcome::Lost => tracing::warn!(claim, "lease ended before the entry was finalised"),
            }
        }
        tracing::info!(claim, claimed = claimed.len(), published = relayed.published, "overdue events swept");
        Ok(relayed)
    }

    /// An entry that cannot be claimed now is left for the next run. If the claim was made and its response lost, for the
    /// run after its lease.
    async fn try_claim(&self, event_id: &EventId, claim: &str) -> Option<Claimed> {
        self.claim_entry(event_id, claim).await.unwrap_or_else(|error| {
            tracing::warn!(%event_id, %error, "overdue event not claimed");
            None
        })
    }

    async fn finalise(
        &self,
        stored: &StoredEvent,
        claimed: &Claimed,
        claim: &str,
        published: &Published,
    ) -> Result<EntryOutcome, Error> {
        let (event, holder) = (&stored.event, Holder::Claim(claim));
        let Err(error) = &published.outcome else {
            let held = self.mark_published(&event.event_id, holder).await?;
            let lag = self.now().since(event.recorded_at);
            return Ok(if held { EntryOutcome::Published(lag) } else { EntryOutcome::Lost });
        };
        let config = &self.0.config;
        let outcome = outbox::unpublished_outcome(config, error, claimed.attempt_count, self.now(), rand::random());
        let reason = error.to_string();
        tracing::warn!(event_id = %event.event_id, reason, "overdue event not published; will retry");
        let counts = matches!(outcome, UnpublishedOutcome::Counted(_) | UnpublishedOutcome::GivenUp);
        let attempt_count = claimed.attempt_count + u32::from(counts);
        let delivered_to = published.delivered_to.clone();
        let unpublished = Unpublished { reason, delivered_to, attempt_count, outcome };
        let held = self.mark_unpublished(&event.event_id, holder, &unpublished).await?;
        let failed = outcome == UnpublishedOutcome::GivenUp;
        Ok(if held { EntryOutcome::Unpublished { failed } } else { EntryOutcome::Lost })
    }

    async fn give_up_claimed(&self, claimed: &Claimed, claim: &str) -> Result<EntryOutcome, Error> {
        let reason = claimed.stored.as_ref().err().map(ToString::to_string).unwrap_or_default();
        tracing::error!(event_id = %claimed.event_id, reason, "outbox entry cannot be read");
        let unpublished = Unpublished {
            reason,
            delivered_to: BTreeSet::new(),
            attempt_count: claimed.attempt_count,
            outcome: UnpublishedOutcome::Unreadable,
        };
        let held = self.mark_unpublished(&claimed.event_id, Holder::Claim(claim), &unpublished).await?;
        Ok(if held { EntryOutcome::Unpublished { failed: true } } else { EntryOutcome::Lost })
    }
}
