//! Orders past their deadline: cancelled, with the reason TIMED_OUT.
//!
//! The same decision as a customer's cancel: order and `OrderCancelled` in one transaction, under the condition of the
//! order's version. A late charge is refunded by whoever records it. Eight queries and one batch get for each batch, one
//! transaction for each order.

use belfry_aws::{CommitOutcome, Context, Error, Stored};
use domain::order::{self, CancelReason, Order};
use futures_util::future::join_all;
use store::metrics;

use crate::{BUDGET, PARALLEL_UPDATES, Sweep, Swept};

impl Sweep {
    /// Cancels overdue orders, batch by batch, until there are none or the time is up.
    pub(crate) async fn sweep_orders(&self) -> Result<Swept, Error> {
        let begun = tokio::time::Instant::now();
        let mut swept = Swept::default();
        while begun.elapsed() < BUDGET {
            let overdue =
                store::orders::overdue(&self.belfry, self.belfry.now(), self.belfry.config().outbox_batch).await?;
            let mut cancelled = 0;
            for some in overdue.chunks(PARALLEL_UPDATES) {
                for done in join_all(some.iter().map(|order| self.time_out(order))).await {
                    cancelled += u32::from(done?);
                }
            }
            swept.published += cancelled;
            // Nothing is overdue, or other sweepers have done it.
            if cancelled == 0 {
                break;
            }
            tracing::warn!(cancelled, "orders passed their deadline; cancelled");
        }
        Ok(swept)
    }

    /// Returns whether this cancelled the order. If the order changed meanwhile, the next batch shows its status.
    async fn time_out(&self, order: &Stored<Order>) -> Result<bool, Error> {
        let ctx = Context::begin().at(self.belfry.now()).with_actor("sweep");
        let Ok(cancelled) = order::cancel(order, CancelReason::TimedOut, &ctx) else { return Ok(false) };
        let (commit, cancelled) = cancelled.split();
        let done = matches!(self.belfry.commit(&ctx, commit).await?, CommitOutcome::Committed { .. });
        if done {
            tracing::warn!(order_id = %order.order_id, "order timed out; cancelled");
            metrics::saga_ended(self.belfry.metrics(), cancelled.status);
        }
        Ok(done)
    }
}
