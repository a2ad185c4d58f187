//! Tables of the inventory: one item per unit, and one per order for what it holds.
//!
//! Stock is moved by arithmetic under a condition and not by replacing what was read: orders for the same unit then do not
//! lose to each other as long as there is enough for all of them. Every move is part of a transaction with its hold, whose
//! version is the condition, so that a move whose answer was lost is not made twice.

use domain::order::PricedLine;
use domain::stock::{Hold, Stock};
use domain::{StockKeepingUnit, Time};
use uuid::Uuid;

use crate::aggregates::{Aggregate, Aggregates};
use crate::commit::{Change, Write};
use crate::error::LedgerError;
use crate::item::{Key, number, text};

/// The table of units.
pub type Stocks = Aggregates<Stock>;

/// The table of holds.
pub type Holds = Aggregates<Hold>;

impl Aggregate for Stock {
    type Id = StockKeepingUnit;

    fn key(table: &str, unit: &StockKeepingUnit) -> Key {
        Key::new(table, "stock_keeping_unit", unit.as_str())
    }

    fn id(&self) -> StockKeepingUnit {
        self.stock_keeping_unit.clone()
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl Aggregate for Hold {
    type Id = Uuid;

    fn key(table: &str, id: &Uuid) -> Key {
        Key::new(table, "order_id", id.to_string())
    }

    fn id(&self) -> Uuid {
        self.order_id
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl Stocks {
    /// Reserves a line, if there is enough and the price is still what it was.
    pub fn reserve(&self, line: &PricedLine, currency: &str, now: Time) -> Result<Write, LedgerError> {
        let mut change = moving(("#available", "#reserved"), line, now);
        change.condition.push_str(" AND #unit_price = :price AND #currency = :currency");
        change.values.push((":price", number(line.unit_price)));
        change.values.push((":currency", text(currency)));
        Write::update(self.key(&line.stock_keeping_unit), &change)
    }

    /// Sells what was reserved.
    pub fn sell(&self, line: &PricedLine, now: Time) -> Result<Write, LedgerError> {
        Write::update(self.key(&line.stock_keeping_unit), &moving(("#reserved", "#sold"), line, now))
    }

    /// Makes what was reserved available again.
    pub fn release(&self, line: &PricedLine, now: Time) -> Result<Write, LedgerError> {
        Write::update(self.key(&line.stock_keeping_unit), &moving(("#reserved", "#available"), line, now))
    }
}

/// From one pile to another: the sum of all stays what it is.
fn moving((from, to): (&str, &str), line: &PricedLine, now: Time) -> Change {
    Change {
        expression: format!(
            "SET {from} = {from} - :quantity, {to} = {to} + :quantity, #version = #version + :one, updated_at = :now"
        ),
        condition: format!("{from} >= :quantity"),
        values: vec![(":quantity", number(u64::from(line.quantity))), (":one", number(1)), (":now", text(now))],
    }
}
