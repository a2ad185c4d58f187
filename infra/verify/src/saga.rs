//! Holds and payments: each belongs to an order and has an event for each change.

use belfry_core::{Entity, Stored};
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
pub(crate) trait Part: Entity {
    fn table(survey: &Survey) -> &Whole<Stored<Self>>;

    fn order_id(&self) -> Uuid;

    /// The versions that must have an event, and the time of each.
    fn reports(part: &Stored<Self>, order: Option<&Order>) -> Vec<(u64, Time)>;

    fn charged(&self) -> Option<&Money> {
        None
    }
}

/// A record, its order, and its events.
#[derive(Debug)]
pub(crate) struct PartCase<P>(Stored<P>, Beside<Stored<Order>>, Lineage);

impl<P: Part> Check for PartCase<P> {
    type Row = Stored<P>;

    fn table(survey: &Survey) -> &Whole<Stored<P>> {
        P::table(survey)
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Stored<P>>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let lineages = rows.iter().map(|seen| async {
            let id = seen.row.order_id().to_string();
            Lineage::read(survey, P::KIND, &id).await
        });
        let lineages = try_join_all(lineages).await?;
        let found = survey.read(rows.iter().map(|seen| survey.orders.place(seen.row.order_id()))).await?;
        let case = |(seen, lineage): (Seen<Stored<P>>, Lineage)| {
            let order = Beside::of(&survey.orders, &found, &survey.orders.place(seen.row.order_id()));
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
        let reported = Reported {
            version: part.version(),
            due: P::reports(part, order.row().map(|order| &**order)),
            every: false,
        };
        lineage.check(&reported, terms, now, notes);
    }
}

impl Part for Hold {
    fn table(survey: &Survey) -> &Whole<Stored<Self>> {
        &survey.holds
    }

    fn order_id(&self) -> Uuid {
        self.order_id
    }

    /// A hold stores no time.
    fn reports(hold: &Stored<Self>, order: Option<&Order>) -> Vec<(u64, Time)> {
        let last = match hold.status {
            HoldStatus::Closed => 0,
            HoldStatus::Reserved => 1,
            HoldStatus::Sold | HoldStatus::Released => 2,
        };
        order.map(|order| (1..=last).map(|version| (version, order.created_at)).collect()).unwrap_or_default()
    }
}

impl Part for Payment {
    fn table(survey: &Survey) -> &Whole<Stored<Self>> {
        &survey.payments
    }

    fn order_id(&self) -> Uuid {
        self.order_id
    }

    fn reports(payment: &Stored<Self>, _: Option<&Order>) -> Vec<(u64, Time)> {
        match payment.state {
            PaymentState::Intended(_) | PaymentState::Closed => Vec::new(),
            PaymentState::Charged(_) | PaymentState::Declined(_) | PaymentState::Refunded(_) => {
                vec![(payment.version(), payment.updated_at)]
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
