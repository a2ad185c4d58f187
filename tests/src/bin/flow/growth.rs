//! How each grows with ten times the data: the time of one with much, over that with little. Flat is 1.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::json;
use tests::timing::Times;
use tests::{Caller, announcement};

use crate::stages::{batches, by_hand, handed_in, invoked, records, staff, to_staff};

/// How many calls of a kind are timed.
const TIMED: usize = 60;

/// Measures and prints.
pub async fn measure(scale: impl Fn(usize) -> usize) {
    println!("| what | with | ms | with ten times that | ms | ratio |");
    println!("|---|---|---|---|---|---|");
    events(scale(1_000)).await;
    recipients(scale(100)).await;
    inbox(scale(200)).await;
    dead_letters(scale(100)).await;
    println!();
}

fn row(what: &str, little: usize, before: f64, after: f64) {
    let (much, ratio) = (little * 10, after / before);
    println!("| {what} | {little} | {before:.2} | {much} | {after:.2} | {ratio:.2} |");
}

/// A grant, and the relay of an event, behind many events.
async fn events(little: usize) {
    let stack = by_hand().await;
    let shop = stack.shop().await;
    let mut times = Vec::new();
    for (part, events) in [(0, little), (1, little * 9)] {
        handed_in(&stack, (0..events).map(|n| announcement(&format!("e-{part}-{n}"), "ada", "Hear, hear"))).await;
        let granted = timed(async |n| {
            let answer = shop.grant(&format!("k-{part}-{n}"), "ada", &format!("unit-{part}-{n}")).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        });
        let granted = granted.await;
        let unpublished = records(&stack, "events", &["event_id"]).await.into_iter().flat_map(|batch| {
            let records = batch["Records"].as_array().expect("records").clone();
            records.into_iter().filter(|record| record["dynamodb"]["NewImage"]["status"]["S"] == "PENDING")
        });
        let unpublished: Vec<_> = unpublished.collect();
        let batches = unpublished.chunks(100).map(|records| json!({"Records": records})).collect();
        let relayed = invoked(&stack, "OutboxStreamFunction", batches).await * 1e3 / unpublished.len() as f64;
        times.push((granted.millis(50), relayed));
    }
    stack.stop().await;
    row("a grant, with so many events", little, times[0].0, times[1].0);
    row("relay of one event, with so many events", little, times[0].1, times[1].1);
}

/// The fan-out for one recipient, in groups of different sizes.
async fn recipients(little: usize) {
    let mut times = Vec::new();
    for people in [little, little * 10] {
        let stack = by_hand().await;
        staff(&stack, people).await;
        handed_in(&stack, std::iter::once(to_staff("e"))).await;
        stack.sweep().await;
        let messages = batches(&stack, "fanout-restaurant-user").await;
        times.push(invoked(&stack, "FanoutFunction", messages).await * 1e3 / people as f64);
        stack.stop().await;
    }
    row("fan-out for one recipient, in a group of", little, times[0], times[1]);
}

/// Reading the newest page of an inbox, and marking one read.
async fn inbox(little: usize) {
    let stack = by_hand().await;
    let ada = stack.customer("ada").await;
    let mut times = Vec::new();
    for (part, events) in [(0, little), (1, little * 9)] {
        handed_in(&stack, (0..events).map(|n| announcement(&format!("e-{part}-{n}"), "ada", "Hear, hear"))).await;
        while stack.sweep().await > 0 {}
        let messages = batches(&stack, "fanout-customer").await;
        invoked(&stack, "FanoutFunction", messages).await;
        let page = timed(async |_| got(&ada, "/v1/inbox?limit=20").await).await;
        times.push(page.millis(50));
    }
    stack.stop().await;
    row("a page of an inbox of so many unread", little, times[0], times[1]);
}

/// A page of the open dead letters.
async fn dead_letters(little: usize) {
    let stack = by_hand().await;
    let operator = stack.operator().await;
    let mut times = Vec::new();
    for (part, letters) in [(0, little), (1, little * 9)] {
        let message = |n: usize| {
            let arn = "arn:aws:sqs:us-east-1:000000000000:belfry-fanout-customer";
            json!({
                "messageId": format!("00000000-0000-4000-8000-{part:04}{n:08}"), "receiptHandle": "r",
                "body": format!("poison {part} {n}"), "messageAttributes": {}, "eventSource": "aws:sqs",
                "attributes": {"ApproximateReceiveCount": "1", "DeadLetterQueueSourceArn": arn},
                "eventSourceARN": format!("{arn}-dlq"), "awsRegion": "us-east-1",
            })
        };
        let messages: Vec<_> = (0..letters).map(message).collect();
        let batches = messages.chunks(10).map(|records| json!({"Records": records})).collect();
        invoked(&stack, "DeadLettersFunction", batches).await;
        let page = timed(async |_| got(&operator, "/v1/dead-letters?status=OPEN&limit=20").await).await;
        times.push(page.millis(50));
    }
    stack.stop().await;
    row("a page of so many open dead letters", little, times[0], times[1]);
}

async fn got(caller: &Caller, path: &str) {
    let answer = caller.get(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
}

async fn timed(call: impl AsyncFn(usize)) -> Times {
    let mut times: Vec<Duration> = Vec::with_capacity(TIMED);
    for n in 0..TIMED {
        let begun = Instant::now();
        call(n).await;
        times.push(begun.elapsed());
    }
    Times::new(times)
}
