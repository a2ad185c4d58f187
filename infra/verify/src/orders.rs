//! Orders: they finish in time, and their hold and payment match their status.

use belfry_core::{Entity, Stored};
use domain::Time;
use domain::dead_letter::{DeadLetter, DeadLetterStatus, dead_letter_id};
use domain::order::{Order, OrderStatus};
use domain::payment::{Payment, PaymentState};
use domain::routing::Queue;
use domain::stock::{Hold, HoldStatus};
use futures_util::future::try_join_all;
use ledger::survey::{Seen, Survey, Whole};
use ledger::{Key, LedgerError};

use crate::check::{Beside, Check, Notes};
use crate::finding::Invariant;
use crate::lineage::{Lineage, Reported};
use crate::terms::Terms;

/// The services that may have a dead letter for an order's event.
const SERVICES: [Queue; 3] = [Queue::Inventory, Queue::Payment, Queue::Order];

/// An order, its hold and payment, its events, and the dead letters of the services.
#[derive(Debug)]
pub(crate) struct OrderCase {
    row: Stored<Order>,
    hold: Beside<Stored<Hold>>,
    payment: Beside<Stored<Payment>>,
    lineage: Lineage,
    letters: Vec<DeadLetter>,
}

fn letter_keys(survey: &Survey, order: &Order) -> Vec<Key> {
    let of_step = |event_id| SERVICES.map(|service| dead_letter_id(&service.consumer(), event_id));
    let letters = order.steps.iter().flat_map(|step| of_step(&step.event_id));
    letters.map(|id| survey.dead_letters.key(&id)).collect()
}

impl Check for OrderCase {
    type Row = Stored<Order>;

    fn table(survey: &Survey) -> &Whole<Stored<Order>> {
        &survey.orders
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Stored<Order>>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let lineages =
            rows.iter().map(|seen| async { Lineage::read(survey, Order::KIND, &seen.row.order_id.to_string()).await });
        let lineages = try_join_all(lineages).await?;
        let places = |order: &Order| [survey.holds.place(order.order_id), survey.payments.place(order.order_id)];
        let found = survey.read(rows.iter().flat_map(|seen| places(&seen.row))).await?;
        let case = |(seen, lineage): (Seen<Stored<Order>>, Lineage)| {
            let [hold, payment] = places(&seen.row);
            let hold = Beside::of(&survey.holds, &found, &hold);
            let payment = Beside::of(&survey.payments, &found, &payment);
            (seen.key, Self { row: seen.row, hold, payment, lineage, letters: Vec::new() })
        };
        let mut cases: Vec<(Key, Self)> = rows.into_iter().zip(lineages).map(case).collect();
        // Dead letters matter only if something does not match.
        let doubtful = cases.iter().filter(|(_, case)| case.disagreement().is_some());
        let asked: Vec<Key> = doubtful.flat_map(|(_, case)| letter_keys(survey, &case.row)).collect();
        let found = survey.read(asked).await?;
        for (_, case) in &mut cases {
            let letters = letter_keys(survey, &case.row);
            let letters = letters.iter().map(|key| Beside::of(&survey.dead_letters, &found, key));
            case.letters = letters.filter_map(|letter| letter.row().cloned()).collect();
        }
        Ok(cases)
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let order = &self.row;
        let reported = Reported { version: order.version(), due: vec![(1, order.created_at)], every: false };
        self.lineage.check(&reported, terms, now, notes);
        if let (OrderStatus::Completed, Some(total)) = (order.status, &order.total) {
            notes.money.entry(total.currency.clone()).or_default().completed += u128::from(total.amount);
        }
        let status = order.status.as_str();
        if !order.status.is_final() {
            if terms.is_overdue(order.deadline_at, now) {
                let found = format!("{status} after its deadline {}", order.deadline_at);
                notes.broken(Invariant::OrderInTime, "COMPLETED, FAILED or CANCELLED", found);
            } else {
                notes.in_progress += 1;
            }
            return;
        }
        let Some((expected, found)) = self.disagreement() else { return };
        let is_open = |letter: &DeadLetter| match (letter.status, &letter.handled) {
            (DeadLetterStatus::Open | DeadLetterStatus::Discarded, _) => true,
            (DeadLetterStatus::Redriven, Some(handled)) => !terms.is_overdue(handled.at, now),
            (DeadLetterStatus::Redriven, None) => false,
        };
        if !terms.is_overdue(order.updated_at, now) {
            notes.in_progress += 1;
        } else if !self.letters.iter().any(is_open) {
            notes.broken(Invariant::OrderIsSettled, format!("{status} with {expected}"), found);
        }
    }
}

impl OrderCase {
    /// The expected and the found hold and payment of a finished order, if they differ.
    fn disagreement(&self) -> Option<(&'static str, String)> {
        let (hold, payment) = (hold_words(&self.hold), payment_words(&self.payment));
        if matches!(self.hold, Beside::Unreadable) || matches!(self.payment, Beside::Unreadable) {
            return None;
        }
        let found = || format!("hold {hold}, payment {payment}");
        match self.row.status {
            OrderStatus::Placed | OrderStatus::Validated => None,
            OrderStatus::Completed if (hold, payment) != ("SOLD", "CHARGED") => {
                Some(("hold SOLD and payment CHARGED", found()))
            }
            OrderStatus::Completed => self.amounts(),
            OrderStatus::Failed
                if !["none", "RELEASED", "CLOSED"].contains(&hold)
                    || !["none", "DECLINED", "CLOSED", "REFUNDED"].contains(&payment) =>
            {
                Some(("nothing held and nothing paid", found()))
            }
            OrderStatus::Cancelled
                if !["RELEASED", "CLOSED"].contains(&hold)
                    || !["DECLINED", "CLOSED", "REFUNDED"].contains(&payment) =>
            {
                Some(("hold and payment undone", found()))
            }
            OrderStatus::Failed | OrderStatus::Cancelled => None,
        }
    }

    /// Compares the lines, prices and charge of a completed order.
    fn amounts(&self) -> Option<(&'static str, String)> {
        let (hold, payment) = (self.hold.row()?, self.payment.row()?);
        let PaymentState::Charged(intent) = &payment.state else { return None };
        let cost: u128 =
            hold.lines.iter().map(|line| u128::from(line.unit_price) * u128::from(u64::from(line.quantity))).sum();
        let ordered = self.row.lines.iter().map(|line| (&line.stock_keeping_unit, line.quantity));
        if !ordered.eq(hold.lines.iter().map(|line| (&line.stock_keeping_unit, line.quantity))) {
            return Some(("the lines that were ordered held", "other lines held".to_owned()));
        }
        let total = self.row.total.as_ref();
        if total != Some(&intent.total) || u128::from(intent.total.amount) != cost {
            let ordered = total.map_or_else(|| "none".to_owned(), |total| total.amount.to_string());
            let found = format!("total {ordered}, charged {}, lines cost {cost}", intent.total.amount);
            return Some(("the same total ordered, held and charged", found));
        }
        None
    }
}

fn hold_words(hold: &Beside<Stored<Hold>>) -> &'static str {
    match hold.row().map(|hold| hold.status) {
        None => "none",
        Some(HoldStatus::Reserved) => "RESERVED",
        Some(HoldStatus::Sold) => "SOLD",
        Some(HoldStatus::Released) => "RELEASED",
        Some(HoldStatus::Closed) => "CLOSED",
    }
}

fn payment_words(payment: &Beside<Stored<Payment>>) -> &'static str {
    match payment.row().map(|payment| &payment.state) {
        None => "none",
        Some(PaymentState::Intended(_)) => "INTENDED",
        Some(PaymentState::Charged(_)) => "CHARGED",
        Some(PaymentState::Declined(_)) => "DECLINED",
        Some(PaymentState::Refunded(_)) => "REFUNDED",
        Some(PaymentState::Closed) => "CLOSED",
    }
}
