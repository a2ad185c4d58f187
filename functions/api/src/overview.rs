//! `GET /v1/overview`: what waits, at a glance: the outbox with the lag of its relay, sends, and dead letters.
//!
//! It rests on the sparse indexes, which hold what is not at its end and nothing else: it costs what waits, whatever the
//! tables hold, and nothing is written for it. Each count stops at 100 and says so. Rates (accepted, sent, …) are metrics and
//! not here: see ADR 10.
//!
//! At most twenty queries at once, 52 in all of half a read unit each where nothing waits; entries of the outbox that
//! wait are read for their age.

use axum::Json;
use axum::extract::State;
use domain::Time;
use domain::dead_letter::{DeadLetterFilter, DeadLetterStatus};
use domain::event::OutboxStatus;
use futures_util::future::try_join3;
use ledger::LedgerError;
use ledger::outbox::{Entry, Shelf};
use ledger::sends::SendDuePartition;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::{Allowed, Operate};
use crate::{Api, Shared};

/// How far each count goes.
const MOST: u16 = 100;

/// What waits.
#[utoipa::path(
    get,
    path = "/v1/overview",
    security(("jwt" = ["operate"])),
    responses((status = 200, body = Overview), (status = 403, body = ErrorBody))
)]
pub async fn overview(State(api): Shared, _: Allowed<Operate>) -> Result<Json<Overview>, ApiError> {
    let at = Time::now();
    let (outbox, sends, dead_letters) = try_join3(api.waiting(at), api.unsent(), api.open_dead_letters()).await?;
    Ok(Json(Overview { at, outbox, sends, dead_letters }))
}

/// What waits, at a moment.
#[derive(Debug, Serialize, ToSchema)]
pub struct Overview {
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    outbox: OutboxOverview,
    sends: SendsOverview,
    dead_letters: DeadLettersOverview,
}

/// Events that are committed and not published.
#[derive(Debug, Serialize, ToSchema)]
pub struct OutboxOverview {
    /// On their way, in time or not.
    pending: Counted,
    /// Of these, those that the stream should have published by now.
    overdue: Counted,
    /// In a sweeper's hands.
    in_flight: Counted,
    /// Given up on: an operator's case.
    failed: Counted,
    /// How long the oldest of the pending ones has waited; nothing waits, no lag.
    relay_lag_ms: u64,
}

/// Sends that are not at their end.
#[derive(Debug, Serialize, ToSchema)]
pub struct SendsOverview {
    /// To be sent, being sent, or to be tried again.
    open: Counted,
    /// Sent for again and again, and not tried.
    stuck: Counted,
    /// Uncertain, and held for an operator.
    held: Counted,
}

/// What consumers gave up on.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLettersOverview {
    /// Waiting for an operator.
    open: Counted,
}

/// A count that stops at 100.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Counted {
    count: usize,
    /// There are more.
    more: bool,
}

impl Counted {
    fn of(found: usize) -> Self {
        Self { count: found.min(MOST.into()), more: found > MOST.into() }
    }
}

impl Api {
    async fn waiting(&self, now: Time) -> Result<OutboxOverview, LedgerError> {
        let (ledger, events) = (&self.commands.ledger, &self.commands.events);
        let open = events.on_shelf(ledger, Shelf::Open, MOST, None).await?;
        let in_flight = events.on_shelf(ledger, Shelf::InFlight, MOST, None).await?;
        let failed = events.on_shelf(ledger, Shelf::Failed, MOST, None).await?;
        // The index lags: what it lists may have left its shelf.
        let counted = |page: &ledger::Page<Entry>, status| {
            let here = page.rows.iter().filter(|entry| entry.status == status).count();
            Counted { count: here, more: page.next.is_some() }
        };
        let pending: Vec<&Entry> = open.rows.iter().filter(|entry| entry.status == OutboxStatus::Pending).collect();
        let on_time = now.minus(self.grace);
        let is_late = |entry: &&&Entry| entry.created_at.is_none_or(|created_at| created_at <= on_time);
        let overdue = pending.iter().filter(is_late).count();
        let oldest = pending.iter().filter_map(|entry| entry.created_at).min();
        let lag = oldest.map_or(std::time::Duration::ZERO, |oldest| now.since(oldest));
        Ok(OutboxOverview {
            // The shelf is in the order of what is due: behind one that is on time, none is late.
            overdue: Counted { count: overdue, more: open.next.is_some() && overdue == pending.len() },
            pending: counted(&open, OutboxStatus::Pending),
            in_flight: counted(&in_flight, OutboxStatus::InFlight),
            failed: counted(&failed, OutboxStatus::Failed),
            relay_lag_ms: u64::try_from(lag.as_millis()).unwrap_or(u64::MAX),
        })
    }

    async fn unsent(&self) -> Result<SendsOverview, LedgerError> {
        let count = async |shelf| self.sends.count_due(&self.commands.ledger, (shelf, None), MOST + 1).await;
        Ok(SendsOverview {
            open: Counted::of(count(SendDuePartition::Open).await?),
            stuck: Counted::of(count(SendDuePartition::Stuck).await?),
            held: Counted::of(count(SendDuePartition::Held).await?),
        })
    }

    async fn open_dead_letters(&self) -> Result<DeadLettersOverview, LedgerError> {
        let open = DeadLetterFilter { status: Some(DeadLetterStatus::Open), ..DeadLetterFilter::default() };
        let found = self.dead_letters.count_up_to(&self.commands.ledger, &open, usize::from(MOST) + 1).await?;
        Ok(DeadLettersOverview { open: Counted::of(found) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_stops_at_a_hundred_and_says_so() {
        assert_eq!(Counted::of(0), Counted { count: 0, more: false });
        assert_eq!(Counted::of(100), Counted { count: 100, more: false });
        assert_eq!(Counted::of(101), Counted { count: 100, more: true });
    }
}
