//! The inventory's step of an order's saga: reserve the stock, release it, sell it.

use std::collections::BTreeMap;

use belfry_core::saga::{Asked, AskedOf, Status, Step};
use belfry_core::{Commit, Context, Entity, Failure, Get, Stored};
use uuid::Uuid;

use super::{Hold, HoldStatus, Stock};
use crate::StockKeepingUnit;
use crate::id::Line as Text;
use crate::order::{
    Line, Money, OrderCancelled, OrderCompleted, OrderPlaced, OrderRejected, OrderValidated, PaymentFailed, PricedLine,
    StockReleased, StockSold,
};

/// Reserves every line of an order, or none.
#[derive(Debug, Clone, Copy)]
pub struct ReserveStock;

belfry_core::messages! {
    /// Why reserved stock is released.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum ReleaseBecause {
        /// The payment was declined.
        PaymentFailed,
        /// The order was cancelled.
        OrderCancelled,
    }
}

impl ReleaseBecause {
    fn order_id(&self) -> Uuid {
        match self {
            Self::PaymentFailed(failed) => failed.order_id,
            Self::OrderCancelled(cancelled) => cancelled.order_id,
        }
    }
}

impl Step for ReserveStock {
    type Record = Hold;
    type Do = OrderPlaced;
    type Undo = ReleaseBecause;
    type Settle = OrderCompleted;
    type Reads = BTreeMap<StockKeepingUnit, Get<Stock>>;

    fn record(asked: AskedOf<'_, Self>) -> Get<Hold> {
        Hold::by_id(match asked {
            Asked::Do(placed) => placed.order_id,
            Asked::Undo(because) => because.order_id(),
            Asked::Settle(completed) => completed.order_id,
        })
    }

    fn status(hold: &Hold) -> Status {
        hold.status.into()
    }

    fn reads(&self, placed: &OrderPlaced) -> Self::Reads {
        let units = placed.lines.iter().map(|line| &line.stock_keeping_unit);
        units.map(|unit| (unit.clone(), Stock::by_id(unit))).collect()
    }

    fn forward(
        &self,
        placed: &OrderPlaced,
        stock: BTreeMap<StockKeepingUnit, Option<Stored<Stock>>>,
        ctx: &Context,
    ) -> Result<Commit<()>, Failure> {
        let (order_id, customer_id) = (placed.order_id, placed.customer_id.clone());
        let (lines, total) = match price(&placed.lines, &stock) {
            Ok(priced) => priced,
            Err(reason) => return Ok(ctx.commit().event(OrderRejected { order_id, customer_id, reason })),
        };
        let hold = Hold { order_id, status: HoldStatus::Reserved, lines: lines.clone() };
        Ok(ctx
            .commit()
            .create(&hold)
            .each(&lines, |commit, line| commit.change(Stock::reserve(line, &total.currency, ctx.now())))
            .event(OrderValidated { order_id, customer_id, lines, total }))
    }

    fn undo(&self, _: &ReleaseBecause, hold: &Stored<Hold>, ctx: &Context) -> Result<Commit<()>, Failure> {
        let (order_id, lines) = (hold.order_id, hold.lines.clone());
        Ok(ctx
            .commit()
            .put(&hold.becomes(Hold { status: HoldStatus::Released, ..Hold::clone(hold) }))
            .each(&lines, |commit, line| commit.change(Stock::release(line, ctx.now())))
            .event(StockReleased { order_id, lines: lines.clone() }))
    }

    fn close(&self, because: &ReleaseBecause, ctx: &Context) -> Result<Commit<()>, Failure> {
        let hold = Hold { order_id: because.order_id(), status: HoldStatus::Closed, lines: Vec::new() };
        Ok(ctx.commit().create(&hold))
    }

    fn settle(&self, _: &OrderCompleted, hold: &Stored<Hold>, ctx: &Context) -> Result<Commit<()>, Failure> {
        let (order_id, lines) = (hold.order_id, hold.lines.clone());
        Ok(ctx
            .commit()
            .put(&hold.becomes(Hold { status: HoldStatus::Sold, ..Hold::clone(hold) }))
            .each(&lines, |commit, line| commit.change(Stock::sell(line, ctx.now())))
            .event(StockSold { order_id, lines: lines.clone() }))
    }
}

/// The lines with their prices and the total, or why the order cannot be reserved.
fn price(
    lines: &[Line],
    stock: &BTreeMap<StockKeepingUnit, Option<Stored<Stock>>>,
) -> Result<(Vec<PricedLine>, Money), Text> {
    let refused = |unit: &StockKeepingUnit, problem: &str| {
        // A unit's name can be as long as a line may be.
        Text::parse(format!("{problem}: {unit}").chars().take(256).collect::<String>())
            .unwrap_or_else(|_| Text::of("not available"))
    };
    let mut priced = Vec::with_capacity(lines.len());
    let mut total: Option<Money> = None;
    for Line { stock_keeping_unit: unit, quantity } in lines {
        let stock = stock.get(unit).and_then(Option::as_ref).ok_or_else(|| refused(unit, "unknown unit"))?;
        let wanted = u64::from(*quantity);
        if stock.available < wanted {
            return Err(refused(unit, "too little stock"));
        }
        let sum = total.as_ref().map_or(0, |total| total.amount);
        let amount = stock.unit_price.checked_mul(wanted).and_then(|cost| sum.checked_add(cost));
        let amount = amount.ok_or_else(|| refused(unit, "costs more than can be counted"))?;
        if total.as_ref().is_some_and(|total| total.currency != stock.currency) {
            return Err(refused(unit, "another currency than the rest"));
        }
        total = Some(Money { amount, currency: stock.currency.clone() });
        priced.push(PricedLine { stock_keeping_unit: unit.clone(), quantity: *quantity, unit_price: stock.unit_price });
    }
    let total = total.ok_or_else(|| Text::of("no lines"))?;
    Ok((priced, total))
}
