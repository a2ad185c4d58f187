//! Lines of an order, and the request that names them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{StockKeepingUnit, UserId};

/// An amount in minor units.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Money {
    /// How many cents, pence, fils.
    pub amount: u64,
    /// The currency, as ISO 4217 writes it.
    pub currency: String,
}

/// How many of a unit: 1 to 1,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minimum" = 1, "maximum" = Quantity::MOST)))]
#[serde(into = "u64", try_from = "u64")]
pub struct Quantity(u64);

/// The number cannot be a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from 1 to 1000000")]
pub struct NotAQuantity;

impl Quantity {
    /// The most of one unit in one order.
    pub const MOST: u64 = 1_000_000;
}

impl From<Quantity> for u64 {
    fn from(quantity: Quantity) -> Self {
        quantity.0
    }
}

impl From<Quantity> for i64 {
    fn from(quantity: Quantity) -> Self {
        // At most 1,000,000.
        quantity.0.cast_signed()
    }
}

impl TryFrom<u64> for Quantity {
    type Error = NotAQuantity;

    fn try_from(number: u64) -> Result<Self, NotAQuantity> {
        if (1..=Self::MOST).contains(&number) { Ok(Self(number)) } else { Err(NotAQuantity) }
    }
}

/// One line: so many of a unit. It has no price: prices are the inventory's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The unit.
    pub stock_keeping_unit: StockKeepingUnit,
    /// How many.
    pub quantity: Quantity,
}

/// The body of `POST /v1/orders`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderRequest {
    /// The customer who orders.
    pub customer_id: UserId,
    /// What they order.
    pub lines: Vec<Line>,
}

/// The lines cannot be an order's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLines {
    /// None, or more than an order may have.
    #[error("must be 1 to 50 lines")]
    Count,
    /// Too many of one unit, all lines together.
    #[error("{0}: at most 1000000 of one unit")]
    TooMany(StockKeepingUnit),
}

impl OrderRequest {
    /// The lines with equal units merged, in the order of their units.
    pub fn merged(&self) -> Result<Vec<Line>, BadLines> {
        if !(1..=50).contains(&self.lines.len()) {
            return Err(BadLines::Count);
        }
        let mut merged: BTreeMap<&StockKeepingUnit, u64> = BTreeMap::new();
        for line in &self.lines {
            *merged.entry(&line.stock_keeping_unit).or_default() += u64::from(line.quantity);
        }
        let line = |(unit, quantity): (&StockKeepingUnit, u64)| {
            let quantity = Quantity::try_from(quantity).map_err(|_| BadLines::TooMany(unit.clone()))?;
            Ok(Line { stock_keeping_unit: unit.clone(), quantity })
        };
        merged.into_iter().map(line).collect()
    }
}
