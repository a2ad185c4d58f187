//! From `POST` to the answer, to the inbox and to the provider, at rates that callers set, and as fast as it goes.
//!
//! In the inbox it is when the customer's live socket hears of it, which is pushed after the commit: a little later than
//! an inbox would show it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tests::timing::Times;
use tests::{Caller, Stack};
use tokio_tungstenite::tungstenite::Message;

/// How many callers there are when nobody waits.
const CALLERS: usize = 16;

/// What was seen at one rate.
pub struct Rate {
    name: String,
    answered: Times,
    told: Times,
    sent: Times,
}

type Heard = Arc<Mutex<HashMap<String, Instant>>>;

/// When a request was sent, and when it was answered.
struct Posted {
    unit: String,
    begun: Instant,
    at: Timestamp,
    answered: Duration,
}

/// Measures and prints.
pub async fn measure(scale: impl Fn(usize) -> usize) -> Vec<Rate> {
    println!("| events per second | POST answered, p50 / p99 ms | in the inbox | at the provider |");
    println!("|---|---|---|---|");
    let mut rates = Vec::new();
    for (per_second, events) in [(1, 30), (10, 200), (100, 2_000)] {
        let rate = at_rate(per_second, scale(events)).await;
        println!("| {} | {} | {} | {} |", rate.name, rate.answered, rate.told, rate.sent);
        rates.push(rate);
    }
    let rate = saturated(scale(5_000)).await;
    println!("| {} | {} | {} | {} |", rate.name, rate.answered, rate.told, rate.sent);
    rates.push(rate);
    println!();
    rates
}

async fn at_rate(per_second: u32, events: usize) -> Rate {
    let (stack, shop, heard) = listened().await;
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / per_second);
    let mut under_way = Vec::new();
    for index in 0..events {
        ticks.tick().await;
        let shop = shop.clone();
        under_way.push(tokio::spawn(async move { posted(&shop, format!("unit-{index}-")).await }));
    }
    let mut all = Vec::new();
    for posted in under_way {
        all.push(posted.await.expect("a caller"));
    }
    seen(per_second.to_string(), stack, &heard, &all).await
}

async fn saturated(events: usize) -> Rate {
    let (stack, shop, heard) = listened().await;
    let begun = Instant::now();
    let shop = &shop;
    let calls = stream::iter(0..events).map(async |index| posted(shop, format!("unit-{index}-")).await);
    let all: Vec<Posted> = calls.buffer_unordered(CALLERS).collect().await;
    stack.idle().await;
    let through = events as f64 / begun.elapsed().as_secs_f64();
    seen(format!("saturated: {through:.0}"), stack, &heard, &all).await
}

/// A stack with a customer who has a mail address and a live socket.
async fn listened() -> (Stack, Caller, Heard) {
    let stack = Stack::start().await;
    stack.recipient("CUSTOMER", "ada", json!({"name": "Ada", "email": "ada@example.com"})).await;
    let ada = stack.customer("ada").await;
    let ticket = ada.send(ada.request(Method::POST, "/v1/live/tickets")).await.json();
    let text = |name: &str| ticket[name].as_str().expect(name).to_owned();
    let url = format!("{}?ticket={}", text("url"), text("ticket"));
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("the socket opens");
    let heard = Heard::default();
    let hears = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            let news: Value = serde_json::from_str(&text).expect("JSON");
            let unit = news["notification"]["properties"]["stock_keeping_unit"].as_str().unwrap_or_default();
            hears.lock().expect("what was heard").entry(unit.to_owned()).or_insert_with(Instant::now);
        }
    });
    let shop = stack.shop().await;
    for warm_up in 0..20 {
        posted(&shop, format!("warm-up-{warm_up}-")).await;
    }
    stack.idle().await;
    (stack, shop, heard)
}

async fn posted(shop: &Caller, unit: String) -> Posted {
    let (begun, at) = (Instant::now(), Timestamp::now());
    let answer = shop.grant(&unit, "ada", &unit).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    Posted { unit, begun, at, answered: begun.elapsed() }
}

/// Waits for the rest, and puts together what was seen where.
async fn seen(name: String, stack: Stack, heard: &Heard, all: &[Posted]) -> Rate {
    stack.idle().await;
    let sent = stack.call(Method::GET, "/local/sent?channel=EMAIL", None).await.json();
    let mut mailed: HashMap<String, Timestamp> = HashMap::new();
    for mail in sent["sent"].as_array().expect("mails") {
        let subject = mail["subject"].as_str().unwrap_or_default();
        let unit = subject.split(' ').find(|word| word.starts_with("unit-")).unwrap_or_default();
        let at = mail["at"].as_str().and_then(|at| at.parse().ok()).expect("a time");
        mailed.insert(unit.to_owned(), at);
    }
    let heard = heard.lock().expect("what was heard").clone();
    let told = all.iter().filter_map(|posted| Some(heard.get(&posted.unit)?.duration_since(posted.begun)));
    let sent =
        all.iter().filter_map(|posted| Duration::try_from(mailed.get(&posted.unit)?.duration_since(posted.at)).ok());
    let (told, sent): (Vec<_>, Vec<_>) = (told.collect(), sent.collect());
    assert_eq!(sent.len(), all.len(), "{name}: each is a mail");
    // A socket is told at most once, and not at all where that takes too long.
    let unheard = all.len() - told.len();
    let name = if unheard > 0 { format!("{name} ({unheard} of {} not heard live)", all.len()) } else { name };
    let answered = Times::new(all.iter().map(|posted| posted.answered).collect());
    stack.stop().await;
    Rate { name, answered, told: Times::new(told), sent: Times::new(sent) }
}

/// A bar for each rate and place, p50, on a scale of powers of ten.
pub fn chart(rates: &[Rate]) -> String {
    let rows: Vec<(String, f64)> = rates
        .iter()
        .flat_map(|rate| {
            let places = [("answered", &rate.answered), ("in the inbox", &rate.told), ("at the provider", &rate.sent)];
            places.map(|(place, times)| (format!("{}/s, {place}", rate.name), times.millis(50)))
        })
        .collect();
    tests::chart::bars("From POST, p50 in milliseconds", &rows)
}
