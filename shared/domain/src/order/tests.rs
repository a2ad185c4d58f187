use serde_json::json;

use super::*;

fn user() -> UserId {
    UserId::parse("u").expect("an id")
}

fn order() -> Order {
    let line = Line {
        stock_keeping_unit: StockKeepingUnit::parse("a").expect("a unit"),
        quantity: 2.try_into().expect("a quantity"),
    };
    Order::place(Uuid::nil(), user(), vec![line], Duration::from_secs(900), &Fresh::new())
}

fn total() -> Money {
    Money { amount: 200, currency: "EUR".to_owned() }
}

fn news(event_type: &str) -> (News, Event) {
    let mut payload =
        json!({"order_id": Uuid::nil(), "customer_id": "u", "lines": [], "total": total(), "reason": "why"});
    if event_type == CANCELLED {
        payload["reason"] = json!("REQUESTED");
    }
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
    (News::parse(&event).expect("news").expect("readable"), event)
}

fn hear(order: &Order, event_type: &str) -> Heard {
    let (news, event) = news(event_type);
    order.hear(&news, &event, &Fresh::new()).expect("a decision")
}

fn cancelled(order: &Order) -> Order {
    order.cancel(CancelReason::Requested, &Fresh::new(), ("u", None)).expect("json").expect("cancelled").0
}

#[test]
fn an_order_is_validated_paid_and_completed() {
    let validated = hear(&order(), VALIDATED).order;
    assert_eq!((validated.status, validated.total.clone()), (OrderStatus::Validated, Some(total())));
    let completed = hear(&validated, PAID);
    assert_eq!(completed.order.status, OrderStatus::Completed);
    assert_eq!(completed.event.expect("an event").event_type, COMPLETED);
    let steps: Vec<Step> = completed.order.steps.iter().map(|taken| taken.step).collect();
    assert_eq!(steps, [Step::PlaceOrder, Step::ReserveStock, Step::ChargePayment, Step::CompleteOrder]);
}

#[test]
fn news_in_the_wrong_order_moves_nothing_back() {
    let completed = hear(&order(), PAID).order;
    let late = hear(&completed, VALIDATED);
    assert_eq!((late.order.status, late.event), (OrderStatus::Completed, None));
    assert_eq!(late.order.steps.len(), completed.steps.len() + 1);
}

#[test]
fn whatever_comes_after_the_end_is_written_down_and_changes_nothing() {
    let ends = [hear(&order(), PAID).order, hear(&order(), REJECTED).order, cancelled(&order())];
    for end in ends {
        for event_type in [VALIDATED, REJECTED, PAID, PAYMENT_FAILED, SOLD, RELEASED, REFUNDED] {
            let heard = hear(&end, event_type);
            assert_eq!((heard.order.status, heard.event), (end.status, None), "{event_type}");
            assert_eq!(heard.order.version, end.version + 1);
        }
        let refused = end.cancel(CancelReason::TimedOut, &Fresh::new(), ("sweep", None)).expect("json");
        assert_eq!(refused, Err(CancelRefused { status: end.status }));
    }
}

#[test]
fn a_failure_is_told_with_its_reason() {
    for event_type in [REJECTED, PAYMENT_FAILED] {
        let failed = hear(&order(), event_type);
        assert_eq!(failed.order.status, OrderStatus::Failed);
        let event = failed.event.expect("an event");
        assert_eq!((event.event_type.as_str(), &event.payload["reason"]), (FAILED, &json!("why")));
    }
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

use crate::EventId;
