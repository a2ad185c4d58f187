//! Holds and payments: each belongs to an order and has an event for each change.

use domain::Time;
use domain::order::{Money, Order};
use domain::payment::{Payment, PaymentState};
use domain::stock::{Hold, HoldStatus};
use futures_util::future::try_join_all;
use ledger::survey::{Seen, Survey, Whole};
use ledger::{Key, LedgerError};
use uuid::Uuid;

use crate::check::{Beside, Check, Notes};
use crate::finding::Invariant;
use crate::lineage::{Lineage, Reported};
use crate::terms::Terms;

/// A service's record of one order.
pub(crate) trait Part: Sized {
    /// The aggregate type of its events.
    const KIND: &'static str;

    fn table(survey: &Survey) -> &Whole<Self>;

    fn order_id(&self) -> Uuid;

    fn version(&self) -> u64;

    /// The versions that must have an event, and the time of each.
    fn reports(&self, order: Option<&Order>) -> Vec<(u64, Time)>;

    fn charged(&self) -> Option<&Money> {
        None
    }
}

/// A record, its order, and its events.
#[derive(Debug)]
pub(crate) struct PartCase<P>(P, Beside<Order>, Lineage);

impl<P: Part> Check for PartCase<P> {
    type Row = P;

    fn table(survey: &Survey) -> &Whole<P> {
        P::table(survey)
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<P>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let lineages = rows.iter().map(|seen| async {
            let id = seen.row.order_id().to_string();
            Lineage::read(survey, P::KIND, &id).await
        });
        let lineages = try_join_all(lineages).await?;
        let found = survey.read(rows.iter().map(|seen| survey.orders.key(&seen.row.order_id()))).await?;
        let case = |(seen, lineage): (Seen<P>, Lineage)| {
            let order = Beside::of(&survey.orders, &found, &survey.orders.key(&seen.row.order_id()));
            (seen.key, Self(seen.row, order, lineage))
        };
        Ok(rows.into_iter().zip(lineages).map(case).collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let Self(part, order, lineage) = self;
        if order.is_absent() {
            notes.broken(Invariant::SagaHasOrder, format!("order {}", part.order_id()), "none");
        }
        if let Some(Money { amount, currency }) = part.charged() {
            notes.money.entry(currency.clone()).or_default().charged += u128::from(*amount);
        }
        let reported = Reported { version: part.version(), due: part.reports(order.row()), every: false };
        lineage.check(&reported, terms, now, notes);
    }
}

impl Part for Hold {
    const KIND: &'static str = "Hold";

    fn table(survey: &Survey) -> &Whole<Self> {
        &survey.holds
    }

    fn order_id(&self) -> Uuid {
        self.order_id
    }

    fn version(&self) -> u64 {
        self.version
    }

    /// A hold stores no time.
    fn reports(&self, order: Option<&Order>) -> Vec<(u64, Time)> {
        let last = match self.status {
            HoldStatus::Closed => 0,
            HoldStatus::Reserved => 1,
            HoldStatus::Sold | HoldStatus::Released => 2,
        };
        order.map(|order| (1..=last).map(|version| (version, order.created_at)).collect()).unwrap_or_default()
    }
}

impl Part for Payment {
    const KIND: &'static str = "Payment";

    fn table(survey: &Survey) -> &Whole<Self> {
        &survey.payments
    }

    fn order_id(&self) -> Uuid {
        self.order_id
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn reports(&self, _: Option<&Order>) -> Vec<(u64, Time)> {
        match self.state {
            PaymentState::Intended(_) | PaymentState::Closed => Vec::new(),
            PaymentState::Charged(_) | PaymentState::Declined(_) | PaymentState::Refunded(_) => {
                vec![(self.version, self.updated_at)]
            }
        }
    }

    fn charged(&self) -> Option<&Money> {
        match &self.state {
            PaymentState::Charged(intent) => Some(&intent.total),
            _ => None,
        }
    }
}
