//! Stock: how much of a unit there is, and what one order holds of it.
//!
//! A hold moves `available → reserved → sold`, or back: `available + reserved + sold` never changes by it. The step that
//! moves it is [`ReserveStock`].

use belfry_core::item::{number, text};
use belfry_core::saga::Status;
use belfry_core::{Change, Entity, Key, Table};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::order::PricedLine;
use crate::{StockKeepingUnit, Time};

mod reserve;

pub use reserve::{ReleaseBecause, ReserveStock};

/// One unit in the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stock {
    /// The unit.
    pub stock_keeping_unit: StockKeepingUnit,
    /// How many can be ordered.
    pub available: u64,
    /// How many are held by orders that are not paid yet.
    pub reserved: u64,
    /// How many were sold.
    pub sold: u64,
    /// The price of one, in minor units.
    pub unit_price: u64,
    /// The currency of the price.
    pub currency: String,
    /// When it was last changed.
    pub updated_at: Time,
}

/// What one order holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The order.
    pub order_id: Uuid,
    /// The status.
    pub status: HoldStatus,
    /// What is held, at which price.
    pub lines: Vec<PricedLine>,
}

/// The status of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HoldStatus {
    /// Reserved.
    Reserved,
    /// Sold.
    Sold,
    /// Available again.
    Released,
    /// Released before it was reserved. It will never be reserved.
    Closed,
}

impl Entity for Stock {
    const TABLE: Table = Table::new("stock", "stock_keeping_unit");
    const KIND: &'static str = "Stock";
    type Id<'a> = &'a StockKeepingUnit;

    fn key(unit: &StockKeepingUnit) -> Key {
        unit.into()
    }

    fn id(&self) -> &StockKeepingUnit {
        &self.stock_keeping_unit
    }
}

impl Entity for Hold {
    const TABLE: Table = Table::new("holds", "order_id");
    const KIND: &'static str = "Hold";
    type Id<'a> = Uuid;

    fn key(id: Uuid) -> Key {
        id.into()
    }

    fn id(&self) -> Uuid {
        self.order_id
    }
}

impl From<HoldStatus> for Status {
    fn from(status: HoldStatus) -> Self {
        match status {
            HoldStatus::Reserved => Self::Done,
            HoldStatus::Sold => Self::Settled,
            HoldStatus::Released => Self::Undone,
            HoldStatus::Closed => Self::Closed,
        }
    }
}

const AVAILABLE: &str = "available";
const RESERVED: &str = "reserved";
const SOLD: &str = "sold";

// Stock is changed by arithmetic under a condition and not by replacing what was read: orders for the same unit do not lose
// to each other as long as there is enough for all of them. Every such change is part of a transaction with its hold, whose
// version is the condition, so that a change whose response was lost is not made twice.
impl Stock {
    /// Reserves a line, if there is enough and the price is still what was read.
    pub fn reserve(line: &PricedLine, currency: &str, now: Time) -> Change<Self> {
        let change = moved(line, AVAILABLE, RESERVED, now);
        change.equals("unit_price", number(line.unit_price)).equals("currency", text(currency))
    }

    /// Sells a reserved line.
    pub fn sell(line: &PricedLine, now: Time) -> Change<Self> {
        moved(line, RESERVED, SOLD, now)
    }

    /// Makes a reserved line available again.
    pub fn release(line: &PricedLine, now: Time) -> Change<Self> {
        moved(line, RESERVED, AVAILABLE, now)
    }
}

fn moved(line: &PricedLine, from: &str, to: &str, now: Time) -> Change<Stock> {
    let (quantity, by) = (u64::from(line.quantity), i64::from(line.quantity));
    Change::of(&line.stock_keeping_unit)
        .add(from, -by)
        .add(to, by)
        .set("updated_at", text(now))
        .at_least(from, quantity)
}

#[cfg(test)]
mod tests;
