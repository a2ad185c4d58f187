//! Overdue sends: PENDING and nobody came, PROCESSING and the lease has ended, UNCERTAIN and to be sent again.
//!
//! A sweeper only sends for them: whoever gets the message claims the send as always. It first stores when it will come
//! again, under the condition that nothing has changed, so that any number of sweepers send one message.

use domain::Time;
use futures_util::future::join_all;
use ledger::LedgerError;
use ledger::sends::Versioned;
use messaging::queues::Parcel;

use crate::outbox::{AT_ONCE, BUDGET};
use crate::{Sweep, Swept};

impl Sweep {
    /// Sends for what was overdue when it began, batch by batch, until nothing is, nothing gets out, or the time is up.
    pub(crate) async fn sweep_sends(&self) -> Result<Swept, LedgerError> {
        let begun = tokio::time::Instant::now();
        // What is given back in this run is the next one's.
        let until = Time::now();
        let mut swept = Swept::default();
        while begun.elapsed() < BUDGET {
            let due = self.sends.due(&self.ledger, until, self.batch).await?;
            if due.is_empty() {
                break;
            }
            let mut claimed: Vec<Versioned> = Vec::with_capacity(due.len());
            for some in due.chunks(AT_ONCE) {
                let claims = join_all(some.iter().map(|send| self.claim_send(send))).await;
                claimed.extend(claims.into_iter().flatten());
            }
            let parcels: Vec<Parcel<'_>> =
                claimed.iter().map(|send| Parcel::send(send, std::time::Duration::ZERO)).collect();
            let mut away = 0;
            for (send, sent) in claimed.iter().zip(self.channel_queues.send(&parcels).await) {
                match sent {
                    Ok(()) => swept.published += 1,
                    Err(error) => {
                        let notification_id = send.id.notification_id;
                        tracing::warn!(%notification_id, reason = %error, "no message for an overdue send");
                        self.give_back(send).await;
                        away += 1;
                    }
                }
            }
            tracing::info!(overdue = due.len(), sent_for = claimed.len() - away, "overdue sends swept");
            swept.unpublished += u32::try_from(away).unwrap_or(u32::MAX);
            // Others have all of it, or nothing gets out now: the next run is soon enough. Behind a full batch of a queue
            // that is away there may be sends of other queues.
            if claimed.len() == away && due.len() < usize::from(self.batch) {
                break;
            }
        }
        Ok(swept)
    }

    /// A send that cannot be claimed now is left for the next run.
    async fn claim_send(&self, send: &Versioned) -> Option<Versioned> {
        let next = send.becomes(send.enqueued_again(self.grace, Time::now()));
        match self.sends.store(&self.ledger, &next).await {
            Ok(stored) => stored.then_some(next),
            Err(error) => {
                tracing::warn!(notification_id = %send.id.notification_id, %error, "overdue send not claimed");
                None
            }
        }
    }

    /// No message was sent: the next run is to come as soon as this one did.
    async fn give_back(&self, send: &Versioned) {
        let next = send.becomes(send.not_enqueued(self.grace, Time::now()));
        if let Err(error) = self.sends.store(&self.ledger, &next).await {
            tracing::warn!(notification_id = %send.id.notification_id, %error, "overdue send not given back");
        }
    }
}
