use std::collections::BTreeMap;
use std::sync::Arc;

use belfry_core::commit::Action;
use belfry_core::saga::{Asked, Step, StepCommand};
use belfry_core::{Command, Commit, Context, Failure, Payload, Stored};

use super::*;
use crate::UserId;
use crate::order::{
    CancelReason, Line, Money, OrderCancelled, OrderCompleted, OrderPlaced, OrderRejected, OrderValidated,
    StockReleased, StockSold,
};

type Units = BTreeMap<StockKeepingUnit, Option<Stored<Stock>>>;

fn unit(name: &str) -> StockKeepingUnit {
    StockKeepingUnit::parse(name).expect("a unit")
}

fn user() -> UserId {
    UserId::parse("u").expect("an id")
}

fn stock(name: &str, available: u64, unit_price: u64, currency: &str) -> (StockKeepingUnit, Option<Stored<Stock>>) {
    let stock = Stock {
        stock_keeping_unit: unit(name),
        available,
        reserved: 0,
        sold: 0,
        unit_price,
        currency: currency.to_owned(),
        updated_at: Time::now(),
    };
    (unit(name), Some(Stored::at(1, stock)))
}

fn place(lines: &[(&str, u64)]) -> Asked<OrderPlaced, ReleaseBecause, OrderCompleted> {
    let line = |(name, quantity): &(&str, u64)| Line {
        stock_keeping_unit: unit(name),
        quantity: (*quantity).try_into().expect("a quantity"),
    };
    let lines = lines.iter().map(line).collect();
    Asked::Do(OrderPlaced { order_id: Uuid::nil(), customer_id: user(), lines })
}

fn cancel() -> Asked<OrderPlaced, ReleaseBecause, OrderCompleted> {
    let reason = CancelReason::Requested;
    Asked::Undo(ReleaseBecause::OrderCancelled(OrderCancelled { order_id: Uuid::nil(), customer_id: user(), reason }))
}

fn complete() -> Asked<OrderPlaced, ReleaseBecause, OrderCompleted> {
    let total = Money { amount: 1, currency: "EUR".to_owned() };
    Asked::Settle(OrderCompleted { order_id: Uuid::nil(), customer_id: user(), total })
}

/// What the step decides, given the hold and the stock.
fn decide<S>(
    step: S,
    asked: Asked<OrderPlaced, ReleaseBecause, OrderCompleted>,
    hold: Option<HoldStatus>,
    units: &Units,
) -> Result<Commit<()>, Failure>
where
    S: Step<Record = Hold, Do = OrderPlaced, Undo = ReleaseBecause, Settle = OrderCompleted>,
    S::Reads: belfry_core::ReadSet<Output = Units>,
{
    let line = PricedLine { stock_keeping_unit: unit("a"), quantity: 2.try_into().expect("a quantity"), unit_price: 1 };
    let hold = hold.map(|status| Stored::at(1, Hold { order_id: Uuid::nil(), status, lines: vec![line] }));
    let found = matches!(asked, Asked::Do(_)).then(|| units.clone());
    StepCommand { step: Arc::new(step), asked }.decide((hold, found), &Context::begin())
}

fn reserved(lines: &[(&str, u64)], units: &Units) -> Commit<()> {
    decide(ReserveStock, place(lines), None, units).expect("a decision")
}

/// The status of the hold that a commit writes.
fn hold(commit: &Commit<()>) -> Option<HoldStatus> {
    let write = commit.writes().iter().find(|write| write.place.table == Hold::TABLE)?;
    let Action::Put(item) = &write.action else { panic!("not a put: {write:?}") };
    Some(Stored::<Hold>::from_item(item.clone()).expect("a hold").status)
}

fn event(commit: &Commit<()>) -> &str {
    commit.events().first().map_or("", |event| &event.event_type)
}

fn reason(commit: &Commit<()>) -> String {
    let event = &commit.events()[0];
    assert_eq!((event.event_type.as_ref(), commit.writes().len()), (OrderRejected::TYPE, 0));
    event.payload.as_ref().expect("a payload")["reason"].as_str().expect("a reason").to_owned()
}

#[test]
fn every_line_is_reserved_or_none() {
    let units = Units::from([stock("a", 5, 100, "EUR"), stock("b", 1, 250, "EUR")]);
    let commit = reserved(&[("a", 2), ("b", 1)], &units);
    assert_eq!((hold(&commit), event(&commit)), (Some(HoldStatus::Reserved), OrderValidated::TYPE));
    assert_eq!(commit.writes().len(), 3, "the hold and both units");
    assert_eq!(commit.events()[0].payload.as_ref().expect("a payload")["total"]["amount"], 450);
    assert_eq!(reason(&reserved(&[("a", 2), ("b", 2)], &units)), "too little stock: b");
    assert_eq!(reason(&reserved(&[("c", 1)], &units)), "unknown unit: c");
}

#[test]
fn prices_that_cannot_be_added_up_are_refused() {
    let units = Units::from([stock("a", 9, u64::MAX, "EUR"), stock("b", 9, 1, "EUR"), stock("c", 9, 1, "USD")]);
    for (lines, problem) in [
        (vec![("a", 2)], "costs more"),
        (vec![("a", 1), ("b", 1)], "costs more"),
        (vec![("b", 1), ("c", 1)], "another currency"),
    ] {
        let reason = reason(&reserved(&lines, &units));
        assert!(reason.starts_with(problem), "{reason:?}");
    }
}

#[test]
fn a_release_before_the_reservation_closes_it() {
    let units = Units::from([stock("a", 5, 100, "EUR")]);
    let closed = decide(ReserveStock, cancel(), None, &units).expect("a decision");
    assert_eq!((hold(&closed), closed.events().len()), (Some(HoldStatus::Closed), 0));
    for asked in [place(&[("a", 1)]), cancel()] {
        let late = decide(ReserveStock, asked, Some(HoldStatus::Closed), &units).expect("a decision");
        assert!(late.writes().is_empty() && late.events().is_empty());
    }
}

#[test]
fn a_hold_is_sold_or_released_and_never_both() {
    let decide = |asked, status| decide(ReserveStock, asked, Some(status), &Units::new());
    let sold = decide(complete(), HoldStatus::Reserved).expect("a decision");
    assert_eq!((hold(&sold), event(&sold)), (Some(HoldStatus::Sold), StockSold::TYPE));
    let released = decide(cancel(), HoldStatus::Reserved).expect("a decision");
    assert_eq!((hold(&released), event(&released)), (Some(HoldStatus::Released), StockReleased::TYPE));
    assert!(decide(cancel(), HoldStatus::Sold).is_err());
    assert!(decide(complete(), HoldStatus::Released).is_err());
    assert!(decide(complete(), HoldStatus::Sold).expect("a decision").writes().is_empty());
}

/// Stock is changed under today's conditions: enough of it, at the price that was read.
#[test]
fn a_line_is_moved_under_a_condition() {
    let line = PricedLine { stock_keeping_unit: unit("a"), quantity: 2.try_into().expect("a quantity"), unit_price: 7 };
    let now = Time::now();
    for (change, piles, conditions) in [
        (Stock::reserve(&line, "EUR", now), ["#available = #available", "#reserved = #reserved"], 4),
        (Stock::sell(&line, now), ["#reserved = #reserved", "#sold = #sold"], 2),
        (Stock::release(&line, now), ["#reserved = #reserved", "#available = #available"], 2),
    ] {
        let commit = Context::begin().commit().change(change);
        let write = &commit.writes()[0];
        let Action::Update(update) = &write.action else { panic!("not an update: {write:?}") };
        let belfry_core::commit::Condition::Expression(condition) = &write.condition else { panic!("no condition") };
        assert!(piles.iter().all(|pile| update.text.contains(pile)), "{}", update.text);
        let from = piles[0].split(' ').next().expect("a pile");
        assert!(condition.text.contains(&format!("{from} >= ")), "{}", condition.text);
        assert_eq!(condition.text.split(" AND ").count(), conditions, "{}", condition.text);
    }
}
