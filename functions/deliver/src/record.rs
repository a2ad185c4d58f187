//! Records the outcome of an attempt: with a dead letter if the send is given up, with a job for the next attempt if it is
//! retried, and for as long as the claim lasts.
//!
//! One transaction; with a dead letter also one get.

use std::time::Duration;

use belfry_aws::dead_letters::RecordDeadLetter;
use belfry_aws::{Command, Commit, CommitOutcome, Context, DeadLetter, Error, Revision, Stored, Write};
use domain::recipient::Recipient;
use domain::send::{ChannelSend, SendState};
use store::recipients::{self, StoredRecipient};
use store::{delivery_job, sends};
use uuid::Uuid;

use crate::attempt::Attempted;
use crate::{Deliver, SendOutcome};

/// No new attempt to record starts this long before a lease ends: the kernel's own retries take about as long.
const RECORDING_MARGIN: Duration = Duration::from_secs(5);

/// The longest wait between two attempts to record.
const MAX_PAUSE: Duration = Duration::from_secs(2);

impl Deliver {
    /// Records the outcome and removes dead addresses from the recipient in one transaction, so that a crash cannot
    /// separate the two. If that fails, the outcome is recorded first and the addresses are removed best effort.
    pub(crate) async fn conclude(
        &self,
        claimed: &Stored<ChannelSend>,
        attempted: Attempted,
        recipient: Option<&StoredRecipient>,
    ) -> Result<SendOutcome, Error> {
        let Attempted { outcome, receipts, dead } = attempted;
        let now = self.belfry.now();
        let mut after = claimed.after(&outcome, &self.policy, now, rand::random());
        after.receipts.extend(receipts);
        let next = claimed.becomes(after);
        if dead.is_empty() {
            return self.record_while_held(claimed, &next).await;
        }
        let without_dead = |recipient: &Recipient| recipient.without_all(self.channel, &dead, now);
        let amended = recipient.and_then(|before| Some((before, without_dead(before)?)));
        let writes = amended.map_or(Ok(Vec::new()), |(before, after)| recipients::replace(before, &after, now));
        let together = match writes {
            Ok(writes) => self.record_with(&next, writes).await,
            Err(unwritable) => Err(unwritable.into()),
        };
        match together {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => tracing::info!("recipient or send has changed; recording the outcome first"),
            Err(error) => tracing::warn!(%error, "could not remove dead addresses; recording the outcome first"),
        }
        let recorded = self.record_while_held(claimed, &next).await;
        // If this fails, the next send finds the addresses dead again.
        let amended = recipients::amend(&self.belfry, claimed.id.audience, &claimed.id.user_id, without_dead).await;
        if let Err(error) = amended {
            tracing::warn!(%error, addresses = dead.len(), "could not remove dead addresses");
        }
        recorded
    }

    /// Only this worker knows what the provider answered, so it tries to record it until the claim ends, and not only for
    /// as long as the kernel retries.
    async fn record_while_held(
        &self,
        claimed: &Stored<ChannelSend>,
        next: &Revision<ChannelSend>,
    ) -> Result<SendOutcome, Error> {
        let (claim, until) = match claimed.state {
            SendState::Processing { locked_by, lease_until } => (locked_by, lease_until.minus(RECORDING_MARGIN)),
            _ => (Uuid::nil(), self.belfry.now()),
        };
        let mut attempts = 0;
        loop {
            attempts += 1;
            let recorded = match self.record(next).await {
                Ok(None) => self.recorded_before(claim, next).await,
                recorded => recorded,
            };
            let status = next.state.as_str();
            let error = match recorded {
                Ok(Some(outcome)) => return Ok(outcome),
                // Something else in the transaction has changed.
                Ok(None) => Error::Contended { attempts },
                Err(transient @ (Error::Unavailable { .. } | Error::Contended { .. })) => transient,
                Err(error) => return Err(error),
            };
            if self.belfry.now() >= until {
                tracing::error!(status, %error, "could not record the outcome before the lease ends");
                return Err(error);
            }
            tracing::warn!(status, %error, "outcome not recorded; will retry");
            tokio::time::sleep(self.policy.backoff.after(attempts, rand::random()).min(MAX_PAUSE)).await;
        }
    }

    /// Why an outcome was not stored: it had been before, and the response was lost; or the lease had ended, and another
    /// worker decides. `None` if the claim still holds.
    async fn recorded_before(&self, claim: Uuid, next: &Revision<ChannelSend>) -> Result<Option<SendOutcome>, Error> {
        let stored = self.belfry.get::<ChannelSend>(&next.id).await?;
        if stored.as_ref().is_some_and(|stored| stored.version() == next.version() && **stored == **next) {
            return Ok(Some(self.recorded(next).await));
        }
        if stored.is_some_and(|stored| stored.is_held_by(claim)) {
            return Ok(None);
        }
        tracing::warn!(status = next.state.as_str(), "lease ended before the outcome was recorded");
        Ok(Some(SendOutcome::Lost))
    }

    /// Stores a send, with a dead letter if it is given up. `None` if it has changed since it was read.
    pub(crate) async fn record(&self, next: &Revision<ChannelSend>) -> Result<Option<SendOutcome>, Error> {
        self.record_with(next, Vec::new()).await
    }

    async fn record_with(
        &self,
        next: &Revision<ChannelSend>,
        writes: Vec<Write>,
    ) -> Result<Option<SendOutcome>, Error> {
        let ctx = Context::begin().at(self.belfry.now());
        let commit = if next.state.is_given_up() { self.dead_letter(next, &ctx).await? } else { ctx.commit() };
        let commit = sends::put(commit, next, self.retention).each(writes, Commit::write);
        match self.belfry.commit(&ctx, commit).await? {
            CommitOutcome::Committed { .. } => Ok(Some(self.recorded(next).await)),
            CommitOutcome::Raced(_) => Ok(None),
        }
    }

    async fn dead_letter(&self, send: &ChannelSend, ctx: &Context) -> Result<Commit<()>, Error> {
        let error = send.last_error.clone().unwrap_or_default();
        let reason = match send.state {
            SendState::Uncertain { .. } => format!("UNCERTAIN, held for an operator: {error}"),
            _ => format!("FAILED after {} attempts: {error}", send.attempt_count),
        };
        let record = RecordDeadLetter(delivery_job::given_up(send, reason));
        let stored = self.belfry.get::<DeadLetter>(record.0.dead_letter_id()).await?;
        match record.decide(stored, ctx) {
            Ok(commit) => Ok(commit.split().0),
            Err(never) => match never {},
        }
    }

    /// Logs the outcome, and enqueues the next attempt.
    async fn recorded(&self, next: &ChannelSend) -> SendOutcome {
        let (attempts, reason) = (next.attempt_count, next.last_error.as_deref());
        match next.state {
            SendState::Sent { .. } => {
                tracing::info!(attempts, "sent");
                SendOutcome::Sent
            }
            SendState::Skipped { .. } => {
                tracing::info!(reason, "skipped");
                SendOutcome::Skipped
            }
            SendState::Failed { .. } => {
                tracing::error!(attempts, reason, "send failed; moved to dead letters");
                SendOutcome::Failed
            }
            SendState::Uncertain { next_retry_at: None } => {
                tracing::error!(attempts, reason, "send uncertain; held for an operator as a dead letter");
                SendOutcome::Held
            }
            SendState::Pending { next_retry_at } | SendState::Uncertain { next_retry_at } => {
                let at = next_retry_at.unwrap_or(next.due_at);
                tracing::warn!(attempts, reason, status = next.state.as_str(), retry_at = %at, "not sent; will retry");
                self.enqueue(next, at.since(self.belfry.now())).await;
                SendOutcome::Retried
            }
            SendState::Processing { .. } => SendOutcome::Lost,
        }
    }

    /// Enqueues the next attempt. If that fails, or the wait is longer than a queue's, the sweeper enqueues it.
    async fn enqueue(&self, send: &ChannelSend, wait: Duration) {
        for sent in self.belfry.send(&[delivery_job::message(send, wait)]).await {
            if let Err(error) = sent {
                tracing::warn!(reason = %error, "retry not enqueued; the sweeper will enqueue it");
            }
        }
    }
}
