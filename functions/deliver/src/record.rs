//! Recording what came of an attempt: with a dead letter where the send is given up, with a message where it is tried
//! again, and for as long as the claim lasts.

use std::time::Duration;

use domain::Time;
use domain::recipient::Recipient;
use domain::send::{ChannelSend, SendState};
use ledger::{Found, LedgerError, Outcome, Write};
use messaging::order;
use messaging::queues::Parcel;
use uuid::Uuid;

use crate::attempt::Attempted;
use crate::{Deliver, Now};

/// Before a lease ends by so little, no new attempt to record begins: the ledger's own patience is about as long.
const LAST_RECORDING: Duration = Duration::from_secs(5);

/// The longest wait between two attempts to record.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Deliver {
    /// Records what came of an attempt and forgets the addresses that are dead, in one transaction: nobody can die between
    /// the two. Where that cannot be had, the outcome goes first, and the addresses as well as they can be.
    pub(crate) async fn conclude(
        &self,
        claimed: &ChannelSend,
        attempted: Attempted,
        found: &Found,
    ) -> Result<Now, LedgerError> {
        let Attempted { ended, receipts, dead } = attempted;
        let mut next = claimed.after(&ended, &self.terms, Time::now(), rand::random());
        next.receipts.extend(receipts);
        if dead.is_empty() {
            return self.record_while_held(claimed, &next).await;
        }
        let recipient = (claimed.order.audience, &claimed.order.user_id);
        let without = |recipient: &Recipient| recipient.without_all(self.channel, &dead, Time::now());
        let together = match self.recipients.amending(found, recipient, without) {
            Ok(forgetting) => self.record_with(&next, forgetting).await,
            Err(error) => Err(error),
        };
        match together {
            Ok(Some(now)) => return Ok(now),
            Ok(None) => tracing::info!("the recipient or the send has changed: the outcome first"),
            Err(error) => tracing::warn!(%error, "dead addresses not forgotten with the outcome: the outcome first"),
        }
        let recorded = self.record_while_held(claimed, &next).await;
        // The next send finds them dead again.
        if let Err(error) = self.recipients.amend(&self.ledger, recipient, without).await {
            tracing::warn!(%error, addresses = dead.len(), "dead addresses stay on the record");
        }
        recorded
    }

    /// The provider has answered, and nobody else knows what: it is recorded for as long as the claim lasts, and not
    /// only for as long as the ledger is patient.
    async fn record_while_held(&self, claimed: &ChannelSend, next: &ChannelSend) -> Result<Now, LedgerError> {
        let (claim, until) = match claimed.state {
            SendState::Processing { locked_by, lease_until } => (locked_by, lease_until.minus(LAST_RECORDING)),
            _ => (Uuid::nil(), Time::now()),
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let recorded = match self.record(next).await {
                Ok(None) => self.standing(claim, next).await,
                recorded => recorded,
            };
            let contended = match recorded {
                Ok(Some(now)) => return Ok(now),
                // Something else in the transaction has changed.
                Ok(None) => LedgerError::Contended { attempts: tries },
                Err(passing @ (LedgerError::Unavailable { .. } | LedgerError::Contended { .. })) => passing,
                Err(error) => return Err(error),
            };
            if Time::now() >= until {
                tracing::error!(outcome = next.state.as_str(), "the outcome could not be recorded");
                return Err(contended);
            }
            tracing::warn!(outcome = next.state.as_str(), error = %contended, "not recorded yet, trying again");
            tokio::time::sleep(self.terms.backoff.after(tries, rand::random()).min(LONGEST_PAUSE)).await;
        }
    }

    /// What to make of an outcome that was not stored: it was before, and the answer lost; or the lease had ended, and
    /// whoever has it now decides. `None` where the claim still holds.
    async fn standing(&self, claim: Uuid, next: &ChannelSend) -> Result<Option<Now>, LedgerError> {
        let standing = self.sends.get(&self.ledger, &next.order).await?;
        if standing.as_ref() == Some(next) {
            return Ok(Some(self.ended(next).await));
        }
        if standing.is_some_and(|standing| standing.is_held_by(claim)) {
            return Ok(None);
        }
        tracing::warn!(outcome = next.state.as_str(), "lease ended before the outcome was recorded");
        Ok(Some(Now::Lost))
    }

    /// Stores what became of a send, with a dead letter where it was given up; `None` where it was not ours to store.
    pub(crate) async fn record(&self, next: &ChannelSend) -> Result<Option<Now>, LedgerError> {
        self.record_with(next, Vec::new()).await
    }

    /// The same, with what else comes of it.
    async fn record_with(&self, next: &ChannelSend, mut writes: Vec<Write>) -> Result<Option<Now>, LedgerError> {
        writes.push(self.sends.put(next)?);
        if next.state.is_given_up() {
            let reason = next.last_error.clone().unwrap_or_default();
            let reason = match next.state {
                SendState::Uncertain { .. } => format!("UNCERTAIN, held for an operator: {reason}"),
                _ => format!("FAILED after {} attempts: {reason}", next.attempt_count),
            };
            let given_up = order::given_up(next, reason)?;
            let standing = self.dead_letters.get(&self.ledger, &given_up.dead_letter_id()).await?;
            if let Some(letter) = given_up.decide(standing.as_ref(), Time::now()) {
                writes.push(self.dead_letters.put(&letter)?);
            }
        }
        match self.ledger.commit(&writes).await? {
            Outcome::Committed => Ok(Some(self.ended(next).await)),
            Outcome::Raced(_) => Ok(None),
        }
    }

    /// Says what became of a send, and sends for it again when its time comes.
    async fn ended(&self, next: &ChannelSend) -> Now {
        let (attempts, reason) = (next.attempt_count, next.last_error.as_deref());
        match next.state {
            SendState::Sent { .. } => {
                tracing::info!(attempts, "sent");
                Now::Sent
            }
            SendState::Skipped { .. } => {
                tracing::info!(reason, "skipped");
                Now::Skipped
            }
            SendState::Failed { .. } => {
                tracing::error!(attempts, reason, "failed: a dead letter");
                Now::Failed
            }
            SendState::Uncertain { next_retry_at: None } => {
                tracing::error!(attempts, reason, "uncertain, held for an operator: a dead letter");
                Now::Held
            }
            SendState::Pending { next_retry_at } | SendState::Uncertain { next_retry_at } => {
                let at = next_retry_at.unwrap_or(next.due_at);
                tracing::warn!(attempts, reason, status = next.state.as_str(), next_retry_at = %at, "not sent yet");
                self.send_for(next, at.since(Time::now())).await;
                Now::Retried
            }
            SendState::Processing { .. } => Now::Lost,
        }
    }

    /// A new message for the next attempt. Where that fails, or the wait is longer than a queue's, the sweeper sends
    /// for it.
    async fn send_for(&self, send: &ChannelSend, wait: Duration) {
        for sent in self.queues.send(&[Parcel::send(send, wait)]).await {
            if let Err(error) = sent {
                tracing::warn!(reason = %error, "no message for the next attempt: the sweeper's");
            }
        }
    }
}
