//! The order saga over HTTP: stock and money move once, whatever comes twice, late, or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use harness::{Answer, Caller, Fault, STREAM_MAPPING, Stack, template_without};
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::live::change;

fn hasty(more: &[(&str, &str)]) -> Options {
    let hasty = [("BELFRY_BACKOFF_BASE", "1ms"), ("BELFRY_PROVIDER_TIME_LIMIT", "2s")];
    let settings = hasty.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Options { settings: settings.collect(), ..Options::default() }
}

async fn stock(stack: &Stack, unit: &str, available: u64) {
    let operator = stack.operator().await;
    let body = json!({"available": available, "unit_price": 250, "currency": "EUR"});
    let put = operator.put(&format!("/v1/inventory/{unit}"), &body).await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.text);
}

/// Available, reserved and sold.
async fn piles(stack: &Stack, unit: &str) -> (u64, u64, u64) {
    let stock = stack.operator().await.get(&format!("/v1/inventory/{unit}")).await.json();
    let count = |name: &str| stock[name].as_u64().unwrap_or_else(|| panic!("{name} in {stock}"));
    (count("available"), count("reserved"), count("sold"))
}

async fn place(caller: &Caller, key: &str, customer: &str, lines: &[(&str, u64)]) -> Answer {
    let line = |(unit, quantity): &(&str, u64)| json!({"stock_keeping_unit": unit, "quantity": quantity});
    let body = json!({"customer_id": customer, "lines": lines.iter().map(line).collect::<Vec<_>>()});
    caller.command("/v1/orders", key, &body).await
}

async fn placed(stack: &Stack, key: &str, lines: &[(&str, u64)]) -> String {
    let answer = place(&stack.customer("u").await, key, "u", lines).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    assert_eq!(answer.json()["status"], "PLACED");
    answer.json()["order_id"].as_str().expect("an id").to_owned()
}

async fn order(stack: &Stack, id: &str) -> Value {
    stack.customer("u").await.get(&format!("/v1/orders/{id}")).await.json()
}

fn steps(order: &Value) -> Vec<(&str, &str)> {
    let steps = order["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    steps
        .iter()
        .map(|step| (step["step"].as_str().unwrap_or_default(), step["outcome"].as_str().unwrap_or_default()))
        .collect()
}

/// How many payments the provider has charged and how many it has paid back; none of them twice.
async fn money(stack: &Stack) -> (u64, u64) {
    let sent = stack.call(Method::GET, "/local/sent?channel=PAYMENT", None).await.json();
    let (mut charged, mut refunded) = (BTreeMap::new(), BTreeMap::new());
    for call in sent["sent"].as_array().expect("a list") {
        // What the provider did, whether or not its answer got through.
        if !matches!(call["outcome"].as_str(), Some("accepted" | "answer_dropped")) || call["method"] != "POST" {
            continue;
        }
        let path = call["path"].as_str().expect("a path");
        let form = &call["form"];
        if path == "/v1/refunds" {
            let intent = form["payment_intent"].as_str().expect("an intent").to_owned();
            *refunded.entry(intent).or_insert(0_u64) += 1;
        } else if let Some(intent) = path.strip_suffix("/confirm").and_then(|path| path.rsplit('/').next()) {
            *charged.entry(intent.to_owned()).or_insert(0_u64) += 1;
        }
    }
    assert!(charged.values().chain(refunded.values()).all(|times| *times == 1), "{charged:?} {refunded:?}");
    (charged.len() as u64, refunded.len() as u64)
}

async fn statuses(stack: &Stack) -> BTreeMap<String, u64> {
    let mut statuses = BTreeMap::new();
    for status in stack.column("orders", "status").await {
        *statuses.entry(status).or_insert(0) += 1;
    }
    statuses
}

#[tokio::test]
async fn an_order_is_reserved_paid_completed_and_its_customer_told() {
    let stack = Stack::start().await;
    stock(&stack, "a", 10).await;
    stock(&stack, "b", 5).await;
    let id = placed(&stack, "k", &[("b", 1), ("a", 2), ("a", 1)]).await;
    stack.idle().await;
    let done = order(&stack, &id).await;
    assert_eq!((&done["status"], &done["total"]), (&json!("COMPLETED"), &json!({"amount": 1000, "currency": "EUR"})));
    let mut taken = steps(&done);
    taken.sort_unstable();
    let expected = ["CHARGE_PAYMENT", "COMPLETE_ORDER", "PLACE_ORDER", "RESERVE_STOCK", "SELL_STOCK"];
    assert_eq!(taken, expected.map(|step| (step, "DONE")), "{done}");
    assert_eq!((piles(&stack, "a").await, piles(&stack, "b").await), ((7, 0, 3), (4, 0, 1)));
    assert_eq!(money(&stack).await, (1, 0));
    assert_eq!(stack.customer("u").await.inbox_titles().await.len(), 1);
    // Everything again, several times.
    for event_id in stack.column("events", "event_id").await {
        stack.redeliver(&event_id, 3).await;
    }
    stack.idle().await;
    assert_eq!((piles(&stack, "a").await, money(&stack).await), ((7, 0, 3), (1, 0)));
    assert_eq!(steps(&order(&stack, &id).await).len(), 5);
    assert_eq!(stack.metric("OrdersCompleted").await, 1);
    let late = stack.customer("u").await.order(&format!("/v1/orders/{id}/cancel"), "c").await;
    assert_eq!((late.status, late.code().as_str()), (StatusCode::CONFLICT, "ORDER_STATE_CONFLICT"));
}

#[tokio::test]
async fn an_order_that_cannot_be_had_whole_takes_nothing() {
    let stack = Stack::start().await;
    stock(&stack, "a", 10).await;
    stock(&stack, "b", 1).await;
    let id = placed(&stack, "k", &[("a", 2), ("b", 2)]).await;
    stack.idle().await;
    let failed = order(&stack, &id).await;
    assert_eq!(failed["status"], "FAILED", "{failed}");
    assert!(steps(&failed).contains(&("RESERVE_STOCK", "REFUSED")));
    assert_eq!((piles(&stack, "a").await, piles(&stack, "b").await), ((10, 0, 0), (1, 0, 0)));
    assert_eq!(money(&stack).await, (0, 0));
    let inbox = stack.customer("u").await.get("/v1/inbox").await.json();
    assert_eq!(inbox["notifications"][0]["event_type"], "OrderFailed");
}

#[tokio::test]
async fn a_declined_payment_gives_the_stock_back() {
    let stack = Stack::start().await;
    stock(&stack, "a", 10).await;
    stack.fault("PAYMENT", "reject", None).await;
    let id = placed(&stack, "k", &[("a", 4)]).await;
    stack.idle().await;
    let failed = order(&stack, &id).await;
    assert_eq!(failed["status"], "FAILED", "{failed}");
    assert!(steps(&failed).contains(&("CHARGE_PAYMENT", "REFUSED")), "{failed}");
    let released = failed["steps"].as_array().expect("steps").iter().find(|step| step["step"] == "RELEASE_STOCK");
    assert_eq!(released.expect("a compensation")["compensates"], "RESERVE_STOCK");
    assert_eq!(piles(&stack, "a").await, (10, 0, 0));
}

#[tokio::test]
async fn a_cancel_undoes_what_was_done_and_what_is_being_done() {
    // Cancelled at every point of the saga: after so many calls of the payment provider.
    for (at, mode) in [(0, "ok"), (1, "timeout"), (1, "drop_answer"), (2, "drop_answer"), (1, "error")] {
        let stack = Stack::with(hasty(&[])).await;
        stock(&stack, "a", 10).await;
        stack.fault("PAYMENT", mode, if mode == "ok" { None } else { Some(at) }).await;
        let customer = stack.customer("u").await;
        let id = placed(&stack, "k", &[("a", 3)]).await;
        let cancelled = customer.order(&format!("/v1/orders/{id}/cancel"), "c").await;
        stack.idle().await;
        let done = order(&stack, &id).await;
        let (charged, refunded) = money(&stack).await;
        if cancelled.status == StatusCode::OK {
            assert_eq!(done["status"], "CANCELLED", "{mode} {at}: {done}");
            assert_eq!(charged, refunded, "{mode} {at}: what was charged is paid back");
            assert_eq!(piles(&stack, "a").await, (10, 0, 0), "{mode} {at}: {done}");
        } else {
            assert_eq!((done["status"].as_str(), charged, refunded), (Some("COMPLETED"), 1, 0), "{mode} {at}: {done}");
        }
    }
}

#[tokio::test]
async fn an_order_that_stands_still_is_cancelled_and_a_late_charge_is_refunded() {
    let stack = Stack::with(hasty(&[("BELFRY_ORDER_DEADLINE", "1s"), ("BELFRY_RECEIVE_COUNT", "2")])).await;
    stock(&stack, "a", 10).await;
    // The provider charges, and nobody ever hears of it: the payment's consumer gives up.
    let id = placed_with_faults(&stack).await;
    assert_eq!(order(&stack, &id).await["status"], "VALIDATED");
    let letters = stack.operator().await.all("/v1/dead-letters?status=OPEN&queue=payment", "dead_letters").await;
    assert_eq!(letters.len(), 1);
    stack.fault("PAYMENT", "ok", None).await;
    while order(&stack, &id).await["status"] != "CANCELLED" {
        stack.sweep_for("orders").await;
    }
    stack.idle().await;
    let done = order(&stack, &id).await;
    assert!(steps(&done).contains(&("CANCEL_ORDER", "TIMED_OUT")), "{done}");
    assert_eq!(piles(&stack, "a").await, (10, 0, 0));
    let (charged, refunded) = money(&stack).await;
    assert_eq!(charged, refunded, "{done}");
    // The late answer: harmless.
    let letter = letters[0]["dead_letter_id"].as_str().expect("an id");
    stack.operator().await.order(&format!("/v1/dead-letters/{letter}/redrive"), "r").await;
    stack.idle().await;
    assert_eq!(order(&stack, &id).await["status"], "CANCELLED");
    assert_eq!(money(&stack).await, (charged, refunded));
    assert_eq!(piles(&stack, "a").await, (10, 0, 0));
}

#[tokio::test]
async fn an_order_that_no_sweeper_cancels_is_an_operators_case() {
    let template = Some(template_without(STREAM_MAPPING));
    let stack = Stack::with(Options { template, ..Options::default() }).await;
    let id = placed(&stack, "k", &[("a", 1)]).await;
    let anomalies = async || {
        let event = json!({"function": "SweepFunction", "event": {"task": "anomalies"}});
        stack.call(Method::POST, "/local/invoke", Some(event)).await.json()["response"]["anomalies"].clone()
    };
    assert_eq!(anomalies().await, 0);
    let long_ago = AttributeValue::S("2020-01-01T00:00:00.000Z".to_owned());
    change(&stack, "orders", &[("order_id", &id)], "SET deadline_at = :value, due_at = :value", long_ago).await;
    assert_eq!((anomalies().await, stack.metric("OrdersOverdue").await), (json!(1), 1));
}

async fn placed_with_faults(stack: &Stack) -> String {
    stack.fault("PAYMENT", "drop_answer", None).await;
    let id = placed(stack, "k", &[("a", 3)]).await;
    stack.idle().await;
    id
}

#[tokio::test]
async fn two_hundred_orders_for_a_hundred_and_twenty_sell_a_hundred_and_twenty() {
    let stack = Stack::start().await;
    crowd(&stack).await;
    let (charged, refunded) = money(&stack).await;
    assert_eq!((charged, refunded), (120, 0));
    assert_eq!(statuses(&stack).await, BTreeMap::from([("COMPLETED".to_owned(), 120), ("FAILED".to_owned(), 80)]));
}

#[tokio::test]
async fn the_same_with_doubled_deliveries_and_a_provider_that_fails_and_drops_its_answers() {
    let stack = Arc::new(Stack::with(hasty(&[("BELFRY_PROVIDER_TIME_LIMIT", "10s")])).await);
    // Of ten requests three fail, and of one the answer is lost.
    let over = Arc::new(AtomicBool::new(false));
    let trouble = tokio::spawn({
        let (stack, over) = (Arc::clone(&stack), Arc::clone(&over));
        async move {
            let (mut seen, mut fails) = (0, false);
            let mut rounds = 0;
            while !over.load(Ordering::Relaxed) {
                rounds += 1;
                let now = stack.sent("PAYMENT").await.len();
                if now >= seen + 5 {
                    seen = now;
                    fails = !fails;
                    let (mode, times) = if fails { ("error", 3) } else { ("drop_answer", 1) };
                    stack.fault("PAYMENT", mode, Some(times)).await;
                }
                // Not for ever: while something is delivered again, the stack does not come to rest.
                let again = if rounds <= 40 { stack.column("events", "event_id").await } else { Vec::new() };
                for event_id in again.into_iter().step_by(7).take(5) {
                    stack.call(Method::POST, "/local/redeliver", Some(json!({"event_id": event_id, "times": 2}))).await;
                }
            }
        }
    });
    crowd(&stack).await;
    over.store(true, Ordering::Relaxed);
    trouble.await.expect("it ends");
    stack.fault("PAYMENT", "ok", None).await;
    // What was given up on goes on by an operator's hand.
    for letter in stack.operator().await.all("/v1/dead-letters?status=OPEN", "dead_letters").await {
        let id = letter["dead_letter_id"].as_str().expect("an id");
        stack.operator().await.order(&format!("/v1/dead-letters/{id}/redrive"), id).await;
    }
    stack.idle().await;
    let statuses = statuses(&stack).await;
    assert_eq!(statuses, BTreeMap::from([("COMPLETED".to_owned(), 120), ("FAILED".to_owned(), 80)]));
    assert_eq!(piles(&stack, "a").await, (0, 0, 120));
    assert_eq!(money(&stack).await, (120, 0));
}

/// Two hundred customers at once, one each, and a look at the piles all the while.
async fn crowd(stack: &Stack) {
    stock(stack, "a", 120).await;
    let shop = stack.shop().await;
    let over = AtomicBool::new(false);
    let orders = async {
        let all = (0..200).map(|n| {
            let shop = &shop;
            async move {
                let answer = place(shop, &format!("k-{n}"), &format!("u-{n}"), &[("a", 1)]).await;
                assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
            }
        });
        join_all(all).await;
        stack.idle().await;
        over.store(true, Ordering::Relaxed);
    };
    let watch = async {
        let mut looks = 0;
        while !over.load(Ordering::Relaxed) {
            let (available, reserved, sold) = piles(stack, "a").await;
            assert_eq!(available + reserved + sold, 120, "at every read");
            looks += 1;
        }
        assert!(looks > 10, "it was looked at while it happened");
    };
    tokio::join!(orders, watch);
}

#[tokio::test]
async fn a_broken_call_of_any_service_moves_stock_and_money_once() {
    for (call, text) in [
        ("TransactWriteItems", "OrderValidated"),
        ("PutItem", "INTENDED"),
        ("TransactWriteItems", "OrderPaid"),
        ("TransactWriteItems", "OrderCompleted"),
        ("TransactWriteItems", "StockSold"),
    ] {
        for fault in [Fault::NotSent, Fault::AnswerLost, Fault::Conflict] {
            let stack = Stack::behind_a_proxy_with(hasty(&[])).await;
            stock(&stack, "a", 10).await;
            stack.proxy().break_next_with(call, text, &[fault; 2]);
            let id = placed(&stack, "k", &[("a", 3)]).await;
            stack.idle().await;
            assert_eq!(stack.proxy().unmet(), 0, "{text} {fault:?}");
            assert_eq!(order(&stack, &id).await["status"], "COMPLETED", "{text} {fault:?}");
            assert_eq!((piles(&stack, "a").await, money(&stack).await), ((7, 0, 3), (1, 0)), "{text} {fault:?}");
        }
    }
}

#[tokio::test]
async fn orders_are_their_customers_and_prices_are_the_inventorys() {
    let stack = Stack::start().await;
    stock(&stack, "a", 10).await;
    let (own, other) = (stack.customer("u").await, stack.customer("v").await);
    assert_eq!(place(&own, "k", "v", &[("a", 1)]).await.code(), "FORBIDDEN");
    let priced = json!({"customer_id": "u", "lines": [{"stock_keeping_unit": "a", "quantity": 1, "unit_price": 1}]});
    assert_eq!(own.command("/v1/orders", "k", &priced).await.code(), "BAD_REQUEST");
    assert_eq!(place(&own, "k", "u", &[]).await.code(), "BAD_REQUEST");
    assert_eq!(place(&own, "k", "u", &[("a", 0)]).await.code(), "BAD_REQUEST");
    let id = placed(&stack, "k", &[("a", 1)]).await;
    assert_eq!(other.get(&format!("/v1/orders/{id}")).await.code(), "NOT_FOUND");
    assert_eq!(other.order(&format!("/v1/orders/{id}/cancel"), "c").await.code(), "NOT_FOUND");
    assert_eq!(own.get("/v1/inventory/a").await.code(), "FORBIDDEN");
    let operator = stack.operator().await;
    let adjust = async |if_match: Option<&str>, body: Value| {
        let mut request = operator.request(Method::PUT, "/v1/inventory/z").json(&body);
        if let Some(version) = if_match {
            request = request.header("if-match", version);
        }
        operator.send(request).await
    };
    let body = json!({"available": 5, "unit_price": 100, "currency": "EUR"});
    assert_eq!(adjust(None, body.clone()).await.json()["version"], 1);
    assert_eq!(adjust(Some("1"), body.clone()).await.json()["version"], 2);
    assert_eq!(adjust(Some("1"), body.clone()).await.code(), "ORDER_STATE_CONFLICT");
    for wrong in [
        json!({"available": -1, "unit_price": 1, "currency": "EUR"}),
        json!({"available": 1, "unit_price": 0, "currency": "EUR"}),
        json!({"available": 1, "unit_price": 1, "currency": "euro"}),
        json!({"available": 1, "unit_price": 1, "currency": "EUR", "sold": 0}),
    ] {
        assert_eq!(adjust(None, wrong.clone()).await.code(), "BAD_REQUEST", "{wrong}");
    }
    assert_eq!(operator.get("/v1/inventory/none").await.code(), "NOT_FOUND");
}
