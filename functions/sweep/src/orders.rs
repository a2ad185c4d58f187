//! Orders that stand still past their deadline: cancelled, with the reason TIMED_OUT.
//!
//! The same step that a customer's cancel is: order and `OrderCancelled` in one transaction, under the condition of the
//! order's version. An answer that comes late finds the order cancelled; a late charge is refunded by whoever records it.

use domain::order::{CancelReason, Order};
use domain::{Fresh, Time};
use futures_util::future::join_all;
use ledger::{LedgerError, Outcome};
use runtime::metrics::SagaEnded;

use crate::outbox::{AT_ONCE, BUDGET};
use crate::{Sweep, Swept};

impl Sweep {
    /// Cancels what is overdue, batch by batch, until nothing is or the time is up.
    pub(crate) async fn sweep_orders(&self) -> Result<Swept, LedgerError> {
        let begun = tokio::time::Instant::now();
        let mut swept = Swept::default();
        while begun.elapsed() < BUDGET {
            let overdue = self.orders.overdue(&self.ledger, Time::now(), self.batch).await?;
            let mut cancelled = 0;
            for some in overdue.chunks(AT_ONCE) {
                for done in join_all(some.iter().map(|order| self.time_out(order))).await {
                    cancelled += u32::from(done?);
                }
            }
            swept.published += cancelled;
            // Nothing is overdue, or others have done it.
            if cancelled == 0 {
                break;
            }
            tracing::warn!(cancelled, "orders stood still past their deadline");
        }
        Ok(swept)
    }

    /// Says whether the order was cancelled by this; if it changed meanwhile, the next look shows how it stands.
    async fn time_out(&self, order: &Order) -> Result<bool, LedgerError> {
        let Ok((cancelled, event)) = order.cancel(CancelReason::TimedOut, &Fresh::new(), ("sweep", None))? else {
            return Ok(false);
        };
        let writes = [self.orders.put(&cancelled)?, self.events.put(&event)?];
        let done = matches!(self.ledger.commit(&writes).await?, Outcome::Committed);
        if done {
            tracing::warn!(order_id = %order.order_id, "order timed out");
            self.metrics.saga(SagaEnded::of(cancelled.status));
        }
        Ok(done)
    }
}
