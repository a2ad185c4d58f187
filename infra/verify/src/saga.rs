//! Holds and payments: each belongs to an order, and reports what became of it.

use domain::Time;
use domain::order::Order;
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

/// What an order holds, the order, and the events that report it.
#[derive(Debug)]
pub(crate) struct HoldCase(Hold, Beside<Order>, Lineage);

/// What an order has paid, the order, and the events that report it.
#[derive(Debug)]
pub(crate) struct PaymentCase(Payment, Beside<Order>, Lineage);

/// The order and the events of each of these.
async fn orders(survey: &Survey, kind: &str, ids: &[Uuid]) -> Result<Vec<(Beside<Order>, Lineage)>, LedgerError> {
    let lineages = ids.iter().map(|id| async { Lineage::read(survey, kind, &id.to_string()).await });
    let lineages = try_join_all(lineages).await?;
    let found = survey.read(ids.iter().map(|id| survey.orders.key(id))).await?;
    let orders = ids.iter().map(|id| Beside::of(&survey.orders, &found, &survey.orders.key(id)));
    Ok(orders.zip(lineages).collect())
}

fn check_order(order: &Beside<Order>, id: Uuid, notes: &mut Notes) {
    if order.is_absent() {
        notes.broken(Invariant::SagaHasOrder, format!("order {id}"), "none");
    }
}

impl Check for HoldCase {
    type Row = Hold;

    fn table(survey: &Survey) -> &Whole<Hold> {
        &survey.holds
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Hold>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let ids: Vec<Uuid> = rows.iter().map(|seen| seen.row.order_id).collect();
        let orders = orders(survey, "Hold", &ids).await?;
        Ok(rows
            .into_iter()
            .zip(orders)
            .map(|(seen, (order, lineage))| (seen.key, Self(seen.row, order, lineage)))
            .collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let Self(hold, order, lineage) = self;
        check_order(order, hold.order_id, notes);
        let reports = match hold.status {
            HoldStatus::Closed => 0,
            HoldStatus::Reserved => 1,
            HoldStatus::Sold | HoldStatus::Released => 2,
        };
        // A hold has no time of its own.
        let placed_at = order.row().map(|order| order.created_at);
        let due = placed_at.map(|at| (1..=reports).map(|version| (version, at)).collect()).unwrap_or_default();
        lineage.check(&Reported { version: hold.version, due, every: false }, terms, now, notes);
    }
}

impl Check for PaymentCase {
    type Row = Payment;

    fn table(survey: &Survey) -> &Whole<Payment> {
        &survey.payments
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Payment>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let ids: Vec<Uuid> = rows.iter().map(|seen| seen.row.order_id).collect();
        let orders = orders(survey, "Payment", &ids).await?;
        Ok(rows
            .into_iter()
            .zip(orders)
            .map(|(seen, (order, lineage))| (seen.key, Self(seen.row, order, lineage)))
            .collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let Self(payment, order, lineage) = self;
        check_order(order, payment.order_id, notes);
        if let PaymentState::Charged(intent) = &payment.state {
            let total = &intent.total;
            notes.money.entry(total.currency.clone()).or_default().charged += u128::from(total.amount);
        }
        let due = match payment.state {
            PaymentState::Intended(_) | PaymentState::Closed => Vec::new(),
            PaymentState::Charged(_) | PaymentState::Declined(_) | PaymentState::Refunded(_) => {
                vec![(payment.version, payment.updated_at)]
            }
        };
        lineage.check(&Reported { version: payment.version, due, every: false }, terms, now, notes);
    }
}
