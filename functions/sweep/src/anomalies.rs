//! Anomalies: what is older than it should be and not at its end. Logged and counted, never deleted.

use domain::Time;
use domain::dead_letter::{DeadLetterFilter, DeadLetterStatus};
use ledger::LedgerError;
use ledger::outbox::Shelf;
use ledger::sends::SendDuePartition;
use runtime::metrics::Anomalies;

use crate::{Failed, Sweep, Swept};

/// A send that is overdue for so long is not even swept.
const UNSWEPT: std::time::Duration = std::time::Duration::from_secs(7_200);

/// An order that is overdue for so long was left by many sweeps.
const UNCANCELLED: std::time::Duration = std::time::Duration::from_secs(900);

/// How many such orders of each partition are counted.
const MOST_ORDERS: u16 = 100;

/// How many stuck sends are asked for their age.
const MOST_STUCK: u16 = 1_000;

impl Sweep {
    /// Counts overdue and FAILED outbox entries, sends that are stuck, orders that nobody cancels, and dead letters that
    /// wait for an operator.
    pub(crate) async fn count_anomalies(&self) -> Result<Swept, Failed> {
        let now = Time::now();
        let open = DeadLetterFilter { status: Some(DeadLetterStatus::Open), ..DeadLetterFilter::default() };
        // At least these: a letter that was given up on so long ago is of an event that is older still.
        let stale = DeadLetterFilter { until: Some(now.minus(self.marks_kept)), ..open.clone() };
        let unswept = (SendDuePartition::Open, Some(now.minus(UNSWEPT)));
        let (overdue, failed, open_dead_letters, stale_dead_letters, unswept, stuck, sends_stale) = tokio::try_join!(
            self.events.overdue(&self.ledger, now, u16::MAX),
            self.events.shelf_size(&self.ledger, Shelf::Failed),
            self.dead_letters.count(&self.ledger, &open),
            self.dead_letters.count(&self.ledger, &stale),
            self.sends.count_due(&self.ledger, unswept, u16::MAX),
            self.sends.count_due(&self.ledger, (SendDuePartition::Stuck, None), u16::MAX),
            self.stale_sends(now),
        )?;
        let orders = store::orders::overdue(&self.belfry, now.minus(UNCANCELLED), MOST_ORDERS).await?;
        let anomalies = Anomalies {
            overdue: count(overdue.len()),
            failed: count(failed),
            open_dead_letters: count(usize::try_from(open_dead_letters).unwrap_or(usize::MAX)),
            stale_dead_letters: count(usize::try_from(stale_dead_letters).unwrap_or(usize::MAX)),
            sends_stuck: count(unswept + stuck),
            sends_stale: count(sends_stale),
            orders_overdue: count(orders.len()),
        };
        if let Some(oldest) = overdue.first() {
            tracing::error!(overdue = anomalies.overdue, oldest = %oldest, "outbox entries are overdue");
        }
        if anomalies.failed > 0 {
            tracing::error!(failed = anomalies.failed, "outbox entries are FAILED: republish them, or let them be");
        }
        if anomalies.stale_dead_letters > 0 {
            tracing::error!(stale = anomalies.stale_dead_letters, "dead letters are too old to be redriven");
        }
        if anomalies.sends_stuck > 0 {
            tracing::error!(
                stuck = anomalies.sends_stuck,
                "sends were sent for again and again, and nobody tries them"
            );
        }
        if anomalies.sends_stale > 0 {
            tracing::error!(stale = anomalies.sends_stale, "sends are not at their end past their retention");
        }
        if let Some(order) = orders.first() {
            tracing::error!(overdue = anomalies.orders_overdue, order_id = %order.order_id, "orders are past their deadline");
        }
        self.metrics.anomalies(&anomalies);
        let all = [
            anomalies.overdue,
            anomalies.failed,
            anomalies.open_dead_letters,
            anomalies.sends_stuck,
            anomalies.sends_stale,
            anomalies.orders_overdue,
        ];
        Ok(Swept { anomalies: all.into_iter().fold(0, u32::saturating_add), ..Swept::default() })
    }

    /// How many sends are older than those that have ended are kept for, and not at their end: not deleted, but nobody
    /// looks. They are held for an operator, overdue all the time, or stuck.
    async fn stale_sends(&self, now: Time) -> Result<usize, LedgerError> {
        let Some(kept) = self.sends_kept else { return Ok(0) };
        let then = now.minus(kept);
        let (held, open, stuck) = tokio::try_join!(
            self.sends.count_due(&self.ledger, (SendDuePartition::Held, Some(then)), u16::MAX),
            self.sends.count_due(&self.ledger, (SendDuePartition::Open, Some(then)), u16::MAX),
            self.sends.stuck(&self.ledger, MOST_STUCK),
        )?;
        Ok(held + open + stuck.iter().filter(|send| send.opened_at <= then).count())
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
