//! Ten thousand events, a fifth of their deliveries twice, in any order, one in a hundred poison: nothing lost, nothing
//! twice, all poison in the dead letters with its reason.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt};
use harness::{Stack, announcement};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use reqwest::StatusCode;
use serde_json::{Value, json};

const EVENTS: usize = 10_000;
const USERS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_events_reach_their_consumer_once_and_all_poison_is_kept() {
    let stack = Stack::start().await;
    let source = stack.source().await;
    let mut random = rand::rngs::StdRng::seed_from_u64(20_261_116);
    let mut order: Vec<usize> = (0..EVENTS).collect();
    order.shuffle(&mut random);
    let event = |n: usize| announcement(&format!("e-{n:05}"), &format!("u-{}", n % USERS), &format!("t-{n:05}"));

    // Every event is handed in, shuffled; a fifth of the lists is handed in twice.
    let mut lists: Vec<Value> = order.chunks(25).map(|list| list.iter().map(|n| event(*n)).collect()).collect();
    let twice = lists.len() / 5;
    lists.extend_from_within(..twice);
    lists.shuffle(&mut random);
    let handed_in = stream::iter(lists).map(|list| {
        let source = source.clone();
        async move {
            // A source asks again when it is told to come back: that is what the event id is for.
            while source.hand_in(&list).await.status != StatusCode::ACCEPTED {}
        }
    });
    handed_in.buffer_unordered(4).collect::<Vec<()>>().await;

    // However slow the engine, one has come before anything comes again: so something does come twice.
    let first = loop {
        if let Some(event_id) = stack.column("processed", "event_id").await.into_iter().next() {
            break event_id;
        }
    };
    let body = json!({"event_id": first, "times": 1});
    assert_eq!(stack.call(reqwest::Method::POST, "/local/redeliver", Some(body)).await.status, StatusCode::OK);

    // Meanwhile a fifth of what has been delivered is delivered again, and poison comes between.
    let again = stream::iter(order.iter().copied().filter(|n| n % 5 == 0)).map(|n| {
        let stack = &stack;
        async move {
            let body = json!({"event_id": format!("e-{n:05}"), "times": 1});
            // What has not come yet cannot come again.
            stack.call(reqwest::Method::POST, "/local/redeliver", Some(body)).await;
            if n % 100 == 0 {
                stack.inject("fanout-customer", &format!("poison {n}")).await;
            }
        }
    });
    again.buffer_unordered(8).collect::<Vec<()>>().await;
    let answer = stack.call(reqwest::Method::GET, "/local/idle?timeout=300", None).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);

    assert_eq!(stack.column("events", "status").await, vec!["PUBLISHED"; EVENTS]);
    assert_eq!(stack.count("processed").await, EVENTS, "every event is processed");
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    for item in stack.items("notifications").await {
        *told.entry(item["event_id"].as_s().expect("text").clone()).or_default() += 1;
    }
    assert_eq!((told.len(), told.values().max()), (EVENTS, Some(&1)), "nothing lost, nothing twice");
    let letters = stack.items("dead-letters").await;
    assert_eq!(letters.len(), EVENTS / 100, "all poison is kept");
    for letter in &letters {
        assert!(letter["reason"].as_s().expect("text").starts_with("not a CloudEvents envelope"), "{letter:?}");
        assert!(letter["body"].as_s().expect("text").starts_with("poison"), "{letter:?}");
    }
    assert!(stack.metric("DuplicatesSkipped").await > 0, "some did come twice");
}
