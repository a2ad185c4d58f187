//! Anomalies: what is older than it should be and not at its end. Logged and counted, never deleted.

use domain::Time;
use domain::dead_letter::{DeadLetterFilter, DeadLetterStatus};
use ledger::LedgerError;
use ledger::outbox::Shelf;
use runtime::metrics::Anomalies;

use crate::{Sweep, Swept};

impl Sweep {
    /// Counts overdue and FAILED outbox entries, and dead letters that wait for an operator.
    pub(crate) async fn count_anomalies(&self) -> Result<Swept, LedgerError> {
        let now = Time::now();
        let open = DeadLetterFilter { status: Some(DeadLetterStatus::Open), ..DeadLetterFilter::default() };
        // At least these: a letter that was given up on so long ago is of an event that is older still.
        let stale = DeadLetterFilter { until: Some(now.minus(self.marks_kept)), ..open.clone() };
        let (overdue, failed, open_dead_letters, stale_dead_letters) = tokio::try_join!(
            self.events.overdue(&self.ledger, now, u16::MAX),
            self.events.shelf_size(&self.ledger, Shelf::Failed),
            self.dead_letters.count(&self.ledger, &open),
            self.dead_letters.count(&self.ledger, &stale),
        )?;
        let anomalies = Anomalies {
            overdue: count(overdue.len()),
            failed: count(failed),
            open_dead_letters: count(usize::try_from(open_dead_letters).unwrap_or(usize::MAX)),
            stale_dead_letters: count(usize::try_from(stale_dead_letters).unwrap_or(usize::MAX)),
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
        self.metrics.anomalies(&anomalies);
        let all = [anomalies.overdue, anomalies.failed, anomalies.open_dead_letters];
        Ok(Swept { anomalies: all.into_iter().fold(0, u32::saturating_add), ..Swept::default() })
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
