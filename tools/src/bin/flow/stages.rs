//! Events per second of each stage alone, invoked by hand with full batches, two at a time.

use std::time::Instant;

use futures_util::{StreamExt, stream};
use harness::by_hand::event;
use harness::{Stack, announcement};
use local::Options;
use reqwest::StatusCode;
use serde_json::{Value, json};

/// As many as there are cores.
const AT_ONCE: usize = 2;

/// Measures and prints; what, and how many per second.
pub async fn measure(scale: impl Fn(usize) -> usize) -> Vec<(String, f64)> {
    println!("| stage | per second |");
    println!("|---|---|");
    let mut stages = Vec::new();
    let mut note = |stage: String, per_second: f64| {
        println!("| {stage} | {per_second:.1} |");
        stages.push((stage, per_second));
    };
    note("relay: events".to_owned(), relay(scale(2_000)).await);
    for (people, events) in [(10, scale(200)), (scale(1_000), 4)] {
        let (told, sent) = fan_out_and_deliver(people, events).await;
        note(format!("fan-out to {people}: events"), told / people as f64);
        note(format!("fan-out to {people}: recipients"), told);
        note(format!("deliver, told {people} at a time: mails"), sent);
    }
    note("saga: orders, POST to COMPLETED and told".to_owned(), saga(scale(300)).await);
    println!();
    stages
}

/// A stack in which nothing happens by itself, and what is overdue is so at once.
pub async fn by_hand() -> Stack {
    let settings = [("BELFRY_OUTBOX_GRACE", "0s"), ("BELFRY_OUTBOX_BATCH", "200")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Stack::with(Options { settings, by_hand: true, ..Options::default() }).await
}

/// Hands events in, many at once.
pub async fn handed_in(stack: &Stack, events: impl Iterator<Item = Value>) {
    let source = stack.source().await;
    let events: Vec<Value> = events.collect();
    for part in events.chunks(25) {
        let accepted = source.hand_in(&json!(part)).await;
        assert!(accepted.status.is_success(), "{}", accepted.text);
    }
}

/// Invokes a function with each of these, some at a time; says how long that took in seconds.
pub async fn invoked(stack: &Stack, function: &str, events: Vec<Value>) -> f64 {
    let begun = Instant::now();
    stream::iter(events).for_each_concurrent(AT_ONCE, |event| stack.invoke(function, event)).await;
    begun.elapsed().as_secs_f64()
}

/// Everything that lies in a queue, as batches.
pub async fn batches(stack: &Stack, queue: &str) -> Vec<Value> {
    let mut batches = Vec::new();
    loop {
        let messages = stack.receive(queue).await;
        if messages.is_empty() {
            return batches;
        }
        batches.push(event(queue, &messages));
    }
}

/// The inserts of a table in batches of a hundred.
pub async fn records(stack: &Stack, table: &str, keys: &[&str]) -> Vec<Value> {
    let all = stack.inserts(table, keys).await;
    let all = all["Records"].as_array().expect("records");
    all.chunks(100).map(|records| json!({"Records": records})).collect()
}

async fn relay(events: usize) -> f64 {
    let stack = by_hand().await;
    handed_in(&stack, (0..events).map(|n| announcement(&format!("e-{n}"), "ada", "Hear, hear"))).await;
    let records = records(&stack, "events", &["event_id"]).await;
    let seconds = invoked(&stack, "OutboxStreamFunction", records).await;
    stack.stop().await;
    events as f64 / seconds
}

/// An announcement to a restaurant.
pub fn to_staff(id: &str) -> Value {
    json!({
        "event_id": id, "event_type": "Announcement", "aggregate_type": "Campaign", "aggregate_id": "c-1",
        "payload": {
            "title": "Hear, hear", "body": "All of it.", "audience": "RESTAURANT_USER", "restaurant_id": "r-1",
            "channels": ["EMAIL"],
        },
    })
}

/// A restaurant with so many people, who all have a mail address.
pub async fn staff(stack: &Stack, people: usize) {
    let person = |n: usize| {
        let email = format!("s-{n}@example.com");
        (format!("s-{n:05}"), json!({"name": "Staff", "restaurant_id": "r-1", "email": email}))
    };
    stack.recipients("RESTAURANT_USER", (0..people).map(person)).await;
}

/// Recipients told and mails sent per second.
async fn fan_out_and_deliver(people: usize, events: usize) -> (f64, f64) {
    let stack = by_hand().await;
    staff(&stack, people).await;
    handed_in(&stack, (0..events).map(|n| to_staff(&format!("e-{n}")))).await;
    while stack.sweep().await > 0 {}
    // One message each for the group of a thousand, so that both have work.
    let mut messages = batches(&stack, "fanout-restaurant-user").await;
    if people > 100 {
        messages = messages
            .iter()
            .flat_map(|batch| batch["Records"].as_array().expect("records").clone())
            .map(|record| json!({"Records": [record]}))
            .collect();
    }
    let told = invoked(&stack, "FanoutFunction", messages).await;
    let mut sends = Vec::new();
    while stack.sweep_for("sends").await > 0 && sends.len() < 200 {
        sends.extend(batches(&stack, "deliver-email").await);
    }
    let mails: usize = sends.iter().map(|batch| batch["Records"].as_array().map_or(0, Vec::len)).sum();
    let sent = invoked(&stack, "DeliverEmailFunction", sends).await;
    stack.stop().await;
    ((people * events) as f64 / told, mails as f64 / sent)
}

async fn saga(orders: usize) -> f64 {
    let stack = Stack::start().await;
    let operator = stack.operator().await;
    for unit in 0..10 {
        let stock = json!({"available": 100_000, "unit_price": 250, "currency": "EUR"});
        let put = operator.put(&format!("/v1/inventory/wine-{unit}"), &stock).await;
        assert_eq!(put.status, StatusCode::OK, "{}", put.text);
    }
    let ada = stack.customer("ada").await;
    let begun = Instant::now();
    stream::iter(0..orders)
        .for_each_concurrent(16, |n| {
            let ada = &ada;
            async move {
                let lines = json!([{"stock_keeping_unit": format!("wine-{}", n % 10), "quantity": 1}]);
                let body = json!({"customer_id": "ada", "lines": lines});
                let placed = ada.command("/v1/orders", &format!("o-{n}"), &body).await;
                assert_eq!(placed.status, StatusCode::CREATED, "{}", placed.text);
            }
        })
        .await;
    stack.idle().await;
    let seconds = begun.elapsed().as_secs_f64();
    let completed = stack.column("orders", "status").await;
    assert!(completed.iter().all(|status| status == "COMPLETED"), "all orders are completed");
    stack.stop().await;
    orders as f64 / seconds
}
