//! Stock: how much of a unit there is, and what one order holds of it.
//!
//! A hold moves `available → reserved → sold`, or back: `available + reserved + sold` never changes by it. A release that
//! comes before what it undoes leaves the hold CLOSED, so that the late reservation stops.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::Line as Text;
use crate::order::{Line, Money, OrderPlaced, PricedLine};
use crate::{StockKeepingUnit, Time};

/// One unit in the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stock {
    /// The unit.
    pub stock_keeping_unit: StockKeepingUnit,
    /// How many can be ordered.
    pub available: u64,
    /// How many orders hold that are not paid for yet.
    pub reserved: u64,
    /// How many were sold.
    pub sold: u64,
    /// What one costs, in minor units.
    pub unit_price: u64,
    /// In which currency.
    pub currency: String,
    /// When it was changed last.
    pub updated_at: Time,
    /// Grows by one with each change, from 1.
    pub version: u64,
}

/// What one order holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The order.
    pub order_id: Uuid,
    /// What became of it.
    pub status: HoldStatus,
    /// What is held, at which price.
    pub lines: Vec<PricedLine>,
    /// Grows by one with each change, from 1.
    pub version: u64,
}

/// What became of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HoldStatus {
    /// It is reserved.
    Reserved,
    /// It is sold.
    Sold,
    /// It is free again.
    Released,
    /// It was undone before it was there, and will never be.
    Closed,
}

/// What becomes of a placed order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reserve {
    /// Every line is reserved at these prices.
    Hold {
        /// The hold.
        hold: Hold,
        /// What it costs.
        total: Money,
    },
    /// Not every line can be.
    Reject(Text),
    /// It was done before, or undone before it could be.
    Nothing,
}

/// What becomes of a hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settle {
    /// It moves on: its lines are moved with it.
    Move(Hold),
    /// There is none yet, and there shall be none: this is stored in its place.
    Close(Hold),
    /// It was done before.
    Nothing,
    /// It cannot be, by all that is known: somebody has to look.
    Broken(&'static str),
}

/// Decides on a placed order: every line or none.
pub fn reserve(placed: &OrderPlaced, stock: &BTreeMap<StockKeepingUnit, Stock>, hold: Option<&Hold>) -> Reserve {
    if hold.is_some() {
        return Reserve::Nothing;
    }
    match price(&placed.lines, stock) {
        Ok((lines, total)) => {
            let hold = Hold { order_id: placed.order_id, status: HoldStatus::Reserved, lines, version: 1 };
            Reserve::Hold { hold, total }
        }
        Err(reason) => Reserve::Reject(reason),
    }
}

fn price(lines: &[Line], stock: &BTreeMap<StockKeepingUnit, Stock>) -> Result<(Vec<PricedLine>, Money), Text> {
    let refused = |unit: &StockKeepingUnit, problem: &str| {
        // A unit's name can be as long as a line may be.
        Text::parse(format!("{problem}: {unit}").chars().take(256).collect::<String>())
            .unwrap_or_else(|_| Text::of("not to be had"))
    };
    let mut priced = Vec::with_capacity(lines.len());
    let mut total: Option<Money> = None;
    for Line { stock_keeping_unit: unit, quantity } in lines {
        let stock = stock.get(unit).ok_or_else(|| refused(unit, "unknown unit"))?;
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

/// Decides on an order that failed or was cancelled.
pub fn release(order_id: Uuid, hold: Option<&Hold>) -> Settle {
    let Some(hold) = hold else {
        return Settle::Close(Hold { order_id, status: HoldStatus::Closed, lines: Vec::new(), version: 1 });
    };
    match hold.status {
        HoldStatus::Reserved => Settle::Move(hold.becomes(HoldStatus::Released)),
        HoldStatus::Released | HoldStatus::Closed => Settle::Nothing,
        HoldStatus::Sold => Settle::Broken("what is sold is not released"),
    }
}

/// Decides on an order that is completed.
pub fn sell(hold: Option<&Hold>) -> Settle {
    let Some(hold) = hold else { return Settle::Broken("nothing is reserved") };
    match hold.status {
        HoldStatus::Reserved => Settle::Move(hold.becomes(HoldStatus::Sold)),
        HoldStatus::Sold => Settle::Nothing,
        HoldStatus::Released | HoldStatus::Closed => Settle::Broken("what was released is not sold"),
    }
}

impl Hold {
    fn becomes(&self, status: HoldStatus) -> Self {
        Self { status, version: self.version + 1, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> StockKeepingUnit {
        StockKeepingUnit::parse(name).expect("a unit")
    }

    fn stock(name: &str, available: u64, unit_price: u64, currency: &str) -> (StockKeepingUnit, Stock) {
        let stock = Stock {
            stock_keeping_unit: unit(name),
            available,
            reserved: 0,
            sold: 0,
            unit_price,
            currency: currency.to_owned(),
            updated_at: Time::now(),
            version: 1,
        };
        (unit(name), stock)
    }

    fn placed(lines: &[(&str, u64)]) -> OrderPlaced {
        let line = |(name, quantity): &(&str, u64)| Line {
            stock_keeping_unit: unit(name),
            quantity: (*quantity).try_into().expect("a quantity"),
        };
        OrderPlaced {
            order_id: Uuid::nil(),
            customer_id: crate::UserId::parse("u").expect("an id"),
            lines: lines.iter().map(line).collect(),
        }
    }

    #[test]
    fn every_line_is_reserved_or_none() {
        let stock = BTreeMap::from([stock("a", 5, 100, "EUR"), stock("b", 1, 250, "EUR")]);
        let Reserve::Hold { hold, total } = reserve(&placed(&[("a", 2), ("b", 1)]), &stock, None) else {
            panic!("not reserved")
        };
        assert_eq!((hold.lines.len(), total.amount, total.currency.as_str()), (2, 450, "EUR"));
        let Reserve::Reject(reason) = reserve(&placed(&[("a", 2), ("b", 2)]), &stock, None) else { panic!("reserved") };
        assert_eq!(reason.as_str(), "too little stock: b");
        let Reserve::Reject(reason) = reserve(&placed(&[("c", 1)]), &stock, None) else { panic!("reserved") };
        assert_eq!(reason.as_str(), "unknown unit: c");
    }

    #[test]
    fn prices_that_cannot_be_added_up_are_refused() {
        let stock = BTreeMap::from([stock("a", 9, u64::MAX, "EUR"), stock("b", 9, 1, "EUR"), stock("c", 9, 1, "USD")]);
        for (lines, problem) in [
            (vec![("a", 2)], "costs more"),
            (vec![("a", 1), ("b", 1)], "costs more"),
            (vec![("b", 1), ("c", 1)], "another currency"),
        ] {
            let Reserve::Reject(reason) = reserve(&placed(&lines), &stock, None) else { panic!("reserved: {lines:?}") };
            assert!(reason.as_str().starts_with(problem), "{reason:?}");
        }
    }

    #[test]
    fn a_release_before_the_reservation_closes_it() {
        let Settle::Close(closed) = release(Uuid::nil(), None) else { panic!("not closed") };
        let stock = BTreeMap::from([stock("a", 5, 100, "EUR")]);
        assert_eq!(reserve(&placed(&[("a", 1)]), &stock, Some(&closed)), Reserve::Nothing);
        assert_eq!(release(Uuid::nil(), Some(&closed)), Settle::Nothing);
    }

    #[test]
    fn what_is_held_is_sold_or_released_and_never_both() {
        let hold = |status| Hold { order_id: Uuid::nil(), status, lines: Vec::new(), version: 1 };
        let reserved = hold(HoldStatus::Reserved);
        assert!(matches!(sell(Some(&reserved)), Settle::Move(Hold { status: HoldStatus::Sold, version: 2, .. })));
        assert!(matches!(
            release(Uuid::nil(), Some(&reserved)),
            Settle::Move(Hold { status: HoldStatus::Released, .. })
        ));
        assert!(matches!(release(Uuid::nil(), Some(&hold(HoldStatus::Sold))), Settle::Broken(_)));
        assert!(matches!(sell(Some(&hold(HoldStatus::Released))), Settle::Broken(_)));
        assert_eq!(sell(Some(&hold(HoldStatus::Sold))), Settle::Nothing);
    }
}
