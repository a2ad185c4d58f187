#![doc = include_str!("../README.md")]

mod aggregates;
mod answers;
mod check;
mod consumed;
mod dead_letters;
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
mod told;
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
pub struct Unread {
    /// The table.
    pub table: String,
    /// Why.
    #[source]
    pub source: LedgerError,
}

/// Checks everything, table by table; `told` hears how far it has come.
pub async fn verify(
    survey: &Survey,
    terms: &Terms,
    pace: &Pace,
    told: impl Fn(&Progress<'_>),
) -> Result<Report, Unread> {
    let mut walk = Walk::new(survey, terms, pace, &told);
    walk.table::<events::EventCase>().await?;
    walk.table::<answers::AnswerCase>().await?;
    walk.table::<aggregates::EntitlementCase>().await?;
    walk.table::<aggregates::ReservationCase>().await?;
    walk.table::<told::ToldCase>().await?;
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
