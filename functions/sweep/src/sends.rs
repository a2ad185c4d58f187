//! Overdue sends: PENDING and nobody delivered them, PROCESSING and the lease has ended, UNCERTAIN and to be sent again.
//!
//! A sweeper only re-enqueues them: whoever gets the delivery job claims the send as always. It first stores when it will
//! look again, under the condition that nothing has changed, so that any number of sweepers send one job.

use std::time::Duration;

use belfry_aws::{Error, Stored};
use domain::send::ChannelSend;
use futures_util::future::join_all;
use store::{delivery_job, sends};

use crate::{BUDGET, PARALLEL_UPDATES, Sweep, Swept};

impl Sweep {
    /// Re-enqueues what was overdue at the start, batch by batch, until there is nothing, nothing gets out, or the time is
    /// up.
    pub(crate) async fn sweep_sends(&self) -> Result<Swept, Error> {
        let started = tokio::time::Instant::now();
        // Sends that this run returns are the next run's.
        let until = self.belfry.now();
        let batch = self.belfry.config().outbox_batch;
        let mut swept = Swept::default();
        while started.elapsed() < BUDGET {
            let due = sends::overdue(&self.belfry, until, batch).await?;
            if due.is_empty() {
                break;
            }
            let mut claimed: Vec<Stored<ChannelSend>> = Vec::with_capacity(due.len());
            for some in due.chunks(PARALLEL_UPDATES) {
                let claims = join_all(some.iter().map(|send| self.claim(send))).await;
                claimed.extend(claims.into_iter().flatten());
            }
            let jobs: Vec<_> = claimed.iter().map(|send| delivery_job::message(send, Duration::ZERO)).collect();
            let mut unsent = 0;
            for (send, sent) in claimed.iter().zip(self.belfry.send(&jobs).await) {
                match sent {
                    Ok(()) => swept.published += 1,
                    Err(error) => {
                        let notification_id = send.id.notification_id;
                        tracing::warn!(%notification_id, reason = %error, "overdue send not enqueued; will retry");
                        self.give_back(send).await;
                        unsent += 1;
                    }
                }
            }
            tracing::info!(overdue = due.len(), enqueued = claimed.len() - unsent, "overdue sends swept");
            swept.unpublished += u32::try_from(unsent).unwrap_or(u32::MAX);
            // Other sweepers have all of it, or nothing gets out now: the next run is soon enough. Behind a full batch for
            // a queue that is unavailable there may be sends for other queues.
            if claimed.len() == unsent && due.len() < usize::from(batch) {
                break;
            }
        }
        Ok(swept)
    }

    /// A send that cannot be claimed now is left for the next run.
    async fn claim(&self, send: &Stored<ChannelSend>) -> Option<Stored<ChannelSend>> {
        sends::claim_overdue(&self.belfry, send, self.send_retention).await.unwrap_or_else(|error| {
            tracing::warn!(notification_id = %send.id.notification_id, %error, "overdue send not claimed");
            None
        })
    }

    /// No job was sent: the next run should come as soon as this one did.
    async fn give_back(&self, send: &Stored<ChannelSend>) {
        if let Err(error) = sends::return_overdue(&self.belfry, send, self.send_retention).await {
            tracing::warn!(notification_id = %send.id.notification_id, %error, "overdue send not returned");
        }
    }
}
