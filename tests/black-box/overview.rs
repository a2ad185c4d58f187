//! What waits, at a glance.

use harness::{CUSTOMER_MAPPING, Stack, announcement, template_without};
use local::Options;
use reqwest::Method;
use serde_json::{Value, json};

fn counted(count: u32, more: bool) -> Value {
    json!({"count": count, "more": more})
}

#[tokio::test]
async fn where_nothing_waits_everything_is_nothing() {
    let stack = Stack::start().await;
    stack.shop().await.grant("k", "u", "s").await;
    stack.idle().await;
    let overview = stack.operator().await.get("/v1/overview").await.json();
    let none = || counted(0, false);
    let outbox =
        json!({"pending": none(), "overdue": none(), "in_flight": none(), "failed": none(), "relay_lag_ms": 0});
    assert_eq!(overview["outbox"], outbox);
    assert_eq!(overview["sends"], json!({"open": none(), "stuck": none(), "held": none()}));
    assert_eq!(overview["dead_letters"], json!({"open": none()}));
    assert_eq!(stack.shop().await.get("/v1/overview").await.code(), "FORBIDDEN");
}

#[tokio::test]
async fn events_that_do_not_get_out_are_counted_up_to_a_hundred_with_how_long_they_wait() {
    let settings = [("BELFRY_OUTBOX_GRACE".to_owned(), "1s".to_owned())].into();
    let stack = Stack::with(Options { by_hand: true, settings, ..Options::default() }).await;
    let source = stack.source().await;
    let operator = stack.operator().await;
    source.hand_in(&announcement("first", "u", "t")).await;
    let waits = async || {
        let outbox = operator.get("/v1/overview").await.json()["outbox"].clone();
        (outbox["overdue"].clone(), outbox["relay_lag_ms"].as_u64().expect("a lag"))
    };
    while waits().await.0 != counted(1, false) {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(waits().await.1 >= 1_000, "it is overdue after a second");
    for part in 0..5 {
        let events: Vec<Value> = (0..25).map(|n| announcement(&format!("{part}-{n}"), "u", "t")).collect();
        source.hand_in(&json!(events)).await;
    }
    assert_eq!(operator.get("/v1/overview").await.json()["outbox"]["pending"], counted(100, true));
}

#[tokio::test]
async fn sends_and_dead_letters_that_wait_are_counted() {
    let stack = Stack::start().await;
    stack.recipient("CUSTOMER", "u", json!({"name": "U", "phone": "+390612345678"})).await;
    // Nobody knows whether it was sent: held for an operator.
    stack.fault("SMS", "drop_answer", Some(1)).await;
    let mut event = announcement("e", "u", "t");
    event["payload"]["channels"] = json!(["SMS"]);
    event["payload"]["urgent"] = json!(true);
    stack.source().await.hand_in(&event).await;
    stack.inject("fanout-customer", "poison").await;
    stack.idle().await;
    let overview = stack.operator().await.get("/v1/overview").await.json();
    assert_eq!(overview["sends"]["held"], counted(1, false), "{overview}");
    assert_eq!(overview["dead_letters"]["open"], counted(2, false), "{overview}");
}

#[tokio::test]
async fn a_laptop_says_what_was_counted_and_how_full_its_queues_are() {
    let template = Some(template_without(CUSTOMER_MAPPING));
    let stack = Stack::with(Options { template, ..Options::default() }).await;
    let shop = stack.shop().await;
    for _ in 0..2 {
        shop.grant("k", "u", "s").await;
    }
    let pulse = async || stack.call(Method::GET, "/local/pulse", None).await.json();
    let waiting = |pulse: &Value| {
        let queues = pulse["queues"].as_array().expect("queues").clone();
        queues.into_iter().find(|queue| queue["queue"] == "fanout-customer").expect("the queue")["waiting"].clone()
    };
    while waiting(&pulse().await) != 1 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let pulse = pulse().await;
    let totals = &pulse["pulse"]["totals"];
    assert_eq!((&totals["accepted"], &totals["replayed"]), (&1.into(), &1.into()), "{pulse}");
    assert_eq!(pulse["queues"].as_array().map(Vec::len), Some(12), "the queues that somebody works off");
}
