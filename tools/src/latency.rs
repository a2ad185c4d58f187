//! From `POST` to the answer, to the inbox and to the provider, on a whole stack: at a rate that callers set, and as fast as
//! it goes.
//!
//! In the inbox it is when the customer's live socket hears of it, which is pushed after the commit: a little later than
//! an inbox would show it. A socket is told at most once, and not at all where that takes too long; those that it never
//! heard count from the inbox itself, with the moment in which their row was stored, so that nothing slow is left out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use harness::{Caller, Stack};
use jiff::Timestamp;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::timing::Times;

/// How many callers there are when nobody waits.
const CALLERS: usize = 16;
/// How often a caller tries.
const TRIES: usize = 50;

/// What was seen at one rate, of every event.
#[derive(Debug)]
pub struct Rate {
    /// Events per second, and what there is to say of them.
    pub name: String,
    /// Until the command was answered.
    pub answered: Times,
    /// Until it was in the inbox.
    pub told: Times,
    /// Until the provider had the mail.
    pub sent: Times,
}

type Heard = Arc<Mutex<HashMap<String, Instant>>>;

/// When a request was sent, and when it was answered.
struct Posted {
    unit: String,
    begun: Instant,
    at: Timestamp,
    answered: Duration,
    /// How often it was refused before, for want of time.
    refused: usize,
}

/// So many events at so many per second, whatever becomes of them.
pub async fn at_rate(per_second: u32, events: usize) -> Rate {
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

/// So many events by callers who wait for nothing but their answer.
pub async fn saturated(events: usize) -> Rate {
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

/// Posts a grant until it is answered, with the same key, as whoever is told to try again does. The time is that of all
/// tries together.
async fn posted(shop: &Caller, unit: String) -> Posted {
    let (begun, at) = (Instant::now(), Timestamp::now());
    for refused in 0..TRIES {
        let answer = shop.grant(&unit, "ada", &unit).await;
        if answer.status == StatusCode::OK {
            return Posted { unit, begun, at, answered: begun.elapsed(), refused };
        }
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text);
    }
    panic!("{unit}: refused {TRIES} times");
}

/// Waits for the rest, and puts together what was seen where.
async fn seen(name: String, stack: Stack, heard: &Heard, all: &[Posted]) -> Rate {
    stack.idle().await;
    let mailed = mailed(&stack).await;
    let heard = heard.lock().expect("what was heard").clone();
    let unheard = all.iter().filter(|posted| !heard.contains_key(&posted.unit)).count();
    let stored = if unheard > 0 { stored(&stack).await } else { HashMap::new() };
    stack.stop().await;
    let refused: usize = all.iter().map(|posted| posted.refused).sum();
    let mut said = Vec::new();
    if unheard > 0 {
        said.push(format!("{unheard} of {} not heard live", all.len()));
    }
    if refused > 0 {
        said.push(format!("{refused} refused and posted again"));
    }
    let name = if said.is_empty() { name } else { format!("{name} ({})", said.join(", ")) };
    let told = all.iter().map(|posted| match heard.get(&posted.unit) {
        Some(heard) => heard.duration_since(posted.begun),
        None => since(posted.at, stored.get(&posted.unit).expect("whatever was posted is in the inbox")),
    });
    let sent = all.iter().map(|posted| since(posted.at, mailed.get(&posted.unit).expect("each is a mail")));
    Rate {
        name,
        answered: Times::new(all.iter().map(|posted| posted.answered).collect()),
        told: Times::new(told.collect()),
        sent: Times::new(sent.collect()),
    }
}

/// When the provider had the mail of each unit.
async fn mailed(stack: &Stack) -> HashMap<String, Timestamp> {
    let sent = stack.call(Method::GET, "/local/sent?channel=EMAIL", None).await.json();
    let mails = sent["sent"].as_array().expect("mails").iter().map(|mail| {
        let subject = mail["subject"].as_str().unwrap_or_default();
        let unit = subject.split(' ').find(|word| word.starts_with("unit-")).unwrap_or_default();
        (unit.to_owned(), time(&mail["at"]))
    });
    mails.collect()
}

/// When the notification of each unit was stored. A notification names its event, and the event has the unit.
async fn stored(stack: &Stack) -> HashMap<String, Timestamp> {
    let mut units: HashMap<String, String> = HashMap::new();
    for event in stack.rows("events").await {
        let payload: Value = serde_json::from_str(event["payload"]["S"].as_str().unwrap_or_default()).expect("JSON");
        let unit = payload["stock_keeping_unit"].as_str().unwrap_or_default();
        units.insert(event["event_id"]["S"].as_str().unwrap_or_default().to_owned(), unit.to_owned());
    }
    let rows = stack.rows("notifications").await;
    let told = rows.iter().filter_map(|row| Some((units.get(row["event_id"]["S"].as_str()?)?, row)));
    told.map(|(unit, row)| (unit.clone(), time(&row["told_at"]["S"]))).collect()
}

fn time(text: &Value) -> Timestamp {
    text.as_str().and_then(|text| text.parse().ok()).expect("a time")
}

/// Rows and mails have their time in milliseconds, cut off: nothing is there before it was asked for.
fn since(begun: Timestamp, at: &Timestamp) -> Duration {
    Duration::try_from(at.duration_since(begun)).unwrap_or_default()
}
