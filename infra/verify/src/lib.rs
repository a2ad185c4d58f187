#![doc = include_str!("../README.md")]

mod aggregates;
mod answers;
mod check;
mod consumed;
mod dead_letters;
mod event_notifications;
mod events;
mod finding;
mod lineage;
mod notifications;
mod orders;
mod report;
mod saga;
mod sends;
mod stock;
mod terms;
mod walk;

pub use finding::{Finding, Invariant};
pub use report::{Money, Report, Verdict};
pub use terms::{Pace, Progress, Terms};

use domain::payment::Payment;
use domain::stock::Hold;
use ledger::LedgerError;
use ledger::survey::Survey;

use walk::Walk;

/// A table could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{table}: {source}")]
pub struct ReadError {
    /// The table.
    pub table: String,
    /// The cause.
    #[source]
    pub source: LedgerError,
}

/// Checks all tables. `on_progress` is called for every page.
pub async fn verify(
    survey: &Survey,
    terms: &Terms,
    pace: &Pace,
    on_progress: impl Fn(&Progress<'_>),
) -> Result<Report, ReadError> {
    let mut walk = Walk::new(survey, terms, pace, &on_progress);
    walk.table::<events::EventCase>().await?;
    walk.table::<answers::AnswerCase>().await?;
    walk.table::<aggregates::EntitlementCase>().await?;
    walk.table::<aggregates::ReservationCase>().await?;
    walk.table::<event_notifications::EventNotificationCase>().await?;
    walk.table::<notifications::NotificationCase>().await?;
    walk.table::<sends::SendCase>().await?;
    walk.table::<dead_letters::DeadLetterCase>().await?;
    walk.table::<orders::OrderCase>().await?;
    walk.table::<saga::PartCase<Hold>>().await?;
    walk.table::<saga::PartCase<Payment>>().await?;
    walk.table::<stock::StockCase>().await?;
    stock::verify(&mut walk).await?;
    Ok(walk.report)
}
