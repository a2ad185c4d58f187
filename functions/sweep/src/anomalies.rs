//! Anomalies: unfinished items that are older than they should be. They are logged and counted, never deleted.

use std::time::Duration;

use belfry_aws::dead_letter::{DeadLetterFilter, DeadLetterStatus};
use belfry_aws::outbox::DuePartition;
use belfry_aws::{Error, Timestamp};
use domain::send::SendDuePartition;
use store::metrics::{Anomalies, anomalies};
use store::{orders, sends};

use crate::{Sweep, Swept};

/// A send that has been overdue for so long is not even swept.
const UNSWEPT: Duration = Duration::from_secs(7_200);

/// An order that has been overdue for so long was left by many sweeps.
const UNCANCELLED: Duration = Duration::from_secs(900);

/// How many such orders of each partition are counted.
const MAX_ORDERS: u16 = 100;

/// How many stuck sends are asked for their age.
const MAX_STUCK: u16 = 1_000;

impl Sweep {
    /// Counts overdue and FAILED events, sends that are stuck, orders that nobody cancels, and dead letters that wait for an
    /// operator.
    pub(crate) async fn count_anomalies(&self) -> Result<Swept, Error> {
        let (belfry, now) = (&self.belfry, self.belfry.now());
        let open = DeadLetterFilter { status: Some(DeadLetterStatus::Open), ..DeadLetterFilter::default() };
        // At least these: the event of a letter that was given up so long ago is older still.
        let too_old = now.minus(belfry.config().mark_retention);
        let stale = DeadLetterFilter { until: Some(too_old), ..open.clone() };
        let (overdue, failed, open_letters, stale_letters, unswept, stuck, sends_stale, orders) = tokio::try_join!(
            belfry.overdue(now, u16::MAX),
            belfry.outbox_size(DuePartition::Failed),
            belfry.count_dead_letters(&open, usize::MAX),
            belfry.count_dead_letters(&stale, usize::MAX),
            sends::count_due(belfry, SendDuePartition::Open, Some(now.minus(UNSWEPT)), u16::MAX),
            sends::count_due(belfry, SendDuePartition::Stuck, None, u16::MAX),
            self.stale_sends(now),
            orders::overdue(belfry, now.minus(UNCANCELLED), MAX_ORDERS),
        )?;
        let found = Anomalies {
            overdue: count(overdue.len()),
            failed: count(failed),
            open_dead_letters: count(open_letters),
            stale_dead_letters: count(stale_letters),
            sends_stuck: count(unswept + stuck),
            sends_stale: count(sends_stale),
            orders_overdue: count(orders.len()),
        };
        if let Some(oldest) = overdue.first() {
            tracing::error!(overdue = found.overdue, %oldest, "outbox entries are overdue");
        }
        if found.failed > 0 {
            tracing::error!(failed = found.failed, "outbox entries are FAILED; republish them or leave them");
        }
        if found.stale_dead_letters > 0 {
            tracing::error!(stale = found.stale_dead_letters, "dead letters are too old to redrive");
        }
        if found.sends_stuck > 0 {
            tracing::error!(stuck = found.sends_stuck, "sends re-enqueued repeatedly but never attempted");
        }
        if found.sends_stale > 0 {
            tracing::error!(stale = found.sends_stale, "unfinished sends exceed the retention period");
        }
        if let Some(order) = orders.first() {
            tracing::error!(overdue = found.orders_overdue, order_id = %order.order_id, "orders are past their deadline");
        }
        anomalies(belfry.metrics(), &found);
        let all = [
            found.overdue,
            found.failed,
            found.open_dead_letters,
            found.sends_stuck,
            found.sends_stale,
            found.orders_overdue,
        ];
        Ok(Swept { anomalies: all.into_iter().fold(0, u32::saturating_add), ..Swept::default() })
    }

    /// How many unfinished sends are older than finished ones are kept: held for an operator, overdue all the time, or
    /// stuck.
    async fn stale_sends(&self, now: Timestamp) -> Result<usize, Error> {
        let Some(retention) = self.send_retention else { return Ok(0) };
        let (belfry, then) = (&self.belfry, now.minus(retention));
        let (held, open, stuck) = tokio::try_join!(
            sends::count_due(belfry, SendDuePartition::Held, Some(then), u16::MAX),
            sends::count_due(belfry, SendDuePartition::Open, Some(then), u16::MAX),
            sends::stuck(belfry, MAX_STUCK),
        )?;
        Ok(held + open + stuck.iter().filter(|send| send.opened_at <= then).count())
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
