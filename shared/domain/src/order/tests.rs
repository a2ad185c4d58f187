use belfry_core::commit::Action;
use belfry_core::{Message, Payload};
use serde_json::json;

use super::*;
use crate::{Event, EventId, StockKeepingUnit};

fn user() -> UserId {
    UserId::parse("u").expect("an id")
}

fn ctx() -> Context {
    Context::begin()
}

fn order() -> Stored<Order> {
    let line = Line {
        stock_keeping_unit: StockKeepingUnit::parse("a").expect("a unit"),
        quantity: 2.try_into().expect("a quantity"),
    };
    written(&place(user(), vec![line], Duration::from_secs(900), &ctx()))
}

fn total() -> Money {
    Money { amount: 200, currency: "EUR".to_owned() }
}

/// The order as a commit writes it.
fn written<T>(commit: &Commit<T>) -> Stored<Order> {
    let Action::Put(item) = &commit.writes()[0].action else { panic!("not written: {:?}", commit.writes()) };
    Stored::from_item(item.clone()).expect("an order")
}

/// What becomes of an order that hears an event of this type: the order, and the type and payload of its own event.
fn heard(order: &Stored<Order>, event_type: &str) -> (Stored<Order>, Option<(String, serde_json::Value)>) {
    let payload =
        json!({"order_id": order.order_id, "customer_id": "u", "lines": [], "total": total(), "reason": "why"});
    let event = Event {
        event_id: EventId::parse(format!("e-{event_type}")).expect("an id"),
        event_type: event_type.to_owned(),
        aggregate_type: "T".to_owned(),
        aggregate_id: "a".to_owned(),
        version: None,
        occurred_at: Time::now(),
        recorded_at: Time::now(),
        actor: None,
        traceparent: None,
        payload,
    };
    let commit = hear(order, &News::read(&event).expect("news"), &event, &ctx());
    let own = commit.events().first().map(|own| (own.event_type.to_string(), own.payload.clone().expect("a payload")));
    assert_eq!(commit.as_output().is_some(), own.is_some(), "an end is reported");
    (written(&commit), own)
}

fn cancelled(order: &Stored<Order>) -> Stored<Order> {
    written(&cancel(order, CancelReason::Requested, &ctx()).expect("cancelled"))
}

#[test]
fn an_order_is_validated_paid_and_completed() {
    let (validated, event) = heard(&order(), OrderValidated::TYPE);
    assert_eq!((validated.status, &validated.total, event), (OrderStatus::Validated, &Some(total()), None));
    let (completed, event) = heard(&validated, OrderPaid::TYPE);
    assert_eq!(completed.status, OrderStatus::Completed);
    assert_eq!(event.expect("an event").0, OrderCompleted::TYPE);
    let steps: Vec<StepName> = completed.steps.iter().map(|taken| taken.step).collect();
    assert_eq!(steps, [StepName::PlaceOrder, StepName::ReserveStock, StepName::ChargePayment, StepName::CompleteOrder]);
}

#[test]
fn the_log_names_the_event_that_reports_the_end() {
    let (ctx, order) = (ctx(), order());
    let commit = cancel(&order, CancelReason::TimedOut, &ctx).expect("cancelled");
    let step = written(&commit).steps[1].clone();
    assert_eq!((step.step, step.outcome), (StepName::CancelOrder, Outcome::TimedOut));
    assert_eq!(Some(&step.event_id), commit.events()[0].event_id.as_ref());
}

#[test]
fn news_in_the_wrong_order_moves_nothing_back() {
    let (completed, _) = heard(&order(), OrderPaid::TYPE);
    let (late, event) = heard(&completed, OrderValidated::TYPE);
    assert_eq!((late.status, event), (OrderStatus::Completed, None));
    assert_eq!(late.steps.len(), completed.steps.len() + 1);
}

#[test]
fn news_after_the_end_is_logged_and_changes_nothing() {
    let ends = [heard(&order(), OrderPaid::TYPE).0, heard(&order(), OrderRejected::TYPE).0, cancelled(&order())];
    for end in ends {
        assert!(end.index_attributes().is_empty(), "an ended order is not listed");
        for event_type in News::TYPES {
            let (after, event) = heard(&end, event_type);
            assert_eq!((after.status, event), (end.status, None), "{event_type}");
            assert_eq!((after.version(), after.steps.len()), (end.version() + 1, end.steps.len() + 1));
        }
        let refused = cancel(&end, CancelReason::TimedOut, &ctx()).map(drop);
        assert_eq!(refused, Err(CancelRefused { status: end.status }));
    }
}

#[test]
fn a_failure_repeats_its_reason() {
    for event_type in [OrderRejected::TYPE, PaymentFailed::TYPE] {
        let (failed, event) = heard(&order(), event_type);
        let (own, payload) = event.expect("an event");
        assert_eq!(
            (failed.status, own.as_str(), &payload["reason"]),
            (OrderStatus::Failed, OrderFailed::TYPE, &json!("why"))
        );
    }
}

#[test]
fn an_open_order_is_listed_by_its_deadline() {
    let order = order();
    let listed = order.index_attributes();
    let partition = belfry_core::item::text_of(&listed, "unsettled").expect("listed");
    assert!(Order::unsettled_partitions().any(|open| open == partition));
    assert!(!order.is_overdue(order.created_at) && order.is_overdue(order.deadline_at));
}

#[test]
fn equal_units_are_merged_and_the_lines_are_counted_before() {
    let line = |unit: &str, quantity: u64| json!({"stock_keeping_unit": unit, "quantity": quantity});
    let request = |lines: Vec<serde_json::Value>| {
        serde_json::from_value::<OrderRequest>(json!({"customer_id": "u", "lines": lines})).expect("a request")
    };
    let merged = request(vec![line("b", 1), line("a", 2), line("b", 3)]).merged().expect("lines");
    let merged: Vec<(&str, u64)> =
        merged.iter().map(|line| (line.stock_keeping_unit.as_str(), line.quantity.into())).collect();
    assert_eq!(merged, [("a", 2), ("b", 4)]);
    assert_eq!(request(vec![]).merged(), Err(BadLines::Count));
    assert_eq!(request(vec![line("a", 1); 51]).merged(), Err(BadLines::Count));
    assert!(matches!(request(vec![line("a", 1_000_000), line("a", 1)]).merged(), Err(BadLines::TooMany(_))));
    let priced = json!({"customer_id": "u", "lines": [{"stock_keeping_unit": "a", "quantity": 1, "unit_price": 0}]});
    assert!(serde_json::from_value::<OrderRequest>(priced).is_err(), "an order cannot name its own prices");
}
