//! How each grows with ten times the data: the time of one with much, over that with little. Flat is 1.
//!
//! Two stacks stand side by side, one with little and one with ten times that, and are measured in turns, so that whatever
//! else the machine does hits both. A ratio is the median of the ratios within each round.

use std::time::{Duration, Instant};

use harness::{Answer, Stack};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tools::timing::{Times, median};

use crate::stages::{batches, by_hand, handed_in, invoked, records, staff, to_staff};

/// How often each side is measured.
const ROUNDS: usize = 5;
/// How many calls of a kind are timed in a round, at most.
const TIMED: usize = 12;
/// Among how many customers events are spread, so that those under way at a time do not meet in one inbox.
const CUSTOMERS: usize = 20;

/// What ten times the data does to one thing.
pub struct Growth {
    what: String,
    ratio: f64,
}

/// Two stacks, and how much the first has; the second has ten times that.
struct Sides {
    stacks: [Stack; 2],
    little: usize,
}

/// Measures and prints.
pub async fn measure(scale: impl Fn(usize) -> usize) -> Vec<Growth> {
    println!("| what | with | ms | with ten times that | ms | ratio |");
    println!("|---|---|---|---|---|---|");
    let mut grown = Vec::new();
    events(Sides::of(scale(1_000)).await, &mut grown).await;
    recipients(Sides::of(scale(100)).await, &mut grown).await;
    inbox(Sides::of(scale(200)).await, &mut grown).await;
    dead_letters(Sides::of(scale(100)).await, &mut grown).await;
    println!();
    grown
}

/// A bar for each ratio.
pub fn chart(grown: &[Growth]) -> String {
    let rows: Vec<(String, f64)> = grown.iter().map(|growth| (growth.what.clone(), growth.ratio)).collect();
    tools::chart::bars("Time with ten times the data, over that with little; flat is 1", &rows)
}

impl Sides {
    async fn of(little: usize) -> Self {
        Self { stacks: [by_hand().await, by_hand().await], little }
    }

    /// Each stack, and how much it has.
    fn each(&self) -> [(&Stack, usize); 2] {
        [(&self.stacks[0], self.little), (&self.stacks[1], self.little * 10)]
    }

    /// How many calls are timed in a round: each takes something that no other has taken.
    fn timed(&self) -> usize {
        (self.little / ROUNDS).clamp(1, TIMED)
    }

    /// Measures both sides in turns, milliseconds of one each time, and prints the row.
    async fn row(&self, what: &str, grown: &mut Vec<Growth>, mut measured: impl AsyncFnMut(usize, usize) -> f64) {
        let mut millis = [[0.0; 2]; ROUNDS];
        for (round, both) in millis.iter_mut().enumerate() {
            for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                both[side] = measured(side, round).await;
            }
        }
        let [before, after] = [0, 1].map(|side: usize| median(millis.map(|both| both[side])));
        let (little, much, ratio) =
            (self.little, self.little * 10, median(millis.map(|[before, after]| after / before)));
        println!("| {what} | {little} | {before:.2} | {much} | {after:.2} | {ratio:.2} |");
        grown.push(Growth { what: what.to_owned(), ratio });
    }

    /// The same for a function that has a share of what is prepared for it in each round.
    async fn share(&self, what: &str, function: &str, prepared: [Vec<Value>; 2], grown: &mut Vec<Growth>) {
        let each = prepared.each_ref().map(|records| records.len() / ROUNDS);
        let shares = async |side: usize, round: usize| {
            let share = &prepared[side][round * each[side]..][..each[side]];
            // As many to a batch as SQS hands over, and in two at least: there are two cores.
            let size = share.len().div_ceil(2).clamp(1, 10);
            let batches = share.chunks(size).map(|records| json!({"Records": records})).collect();
            invoked(&self.stacks[side], function, batches).await * 1e3 / share.len() as f64
        };
        self.row(what, grown, shares).await;
    }

    /// The same for a call of the API, which is handed the number of the call.
    async fn calls(&self, what: &str, grown: &mut Vec<Growth>, call: impl AsyncFn(usize, usize) -> Answer) {
        let timed = self.timed();
        let calls = async |side: usize, round: usize| {
            let mut times: Vec<Duration> = Vec::with_capacity(timed);
            for number in 0..timed {
                let begun = Instant::now();
                let answer = call(side, round * timed + number).await;
                times.push(begun.elapsed());
                assert_eq!(answer.status, StatusCode::OK, "{what}: {}", answer.text);
            }
            Times::new(times).millis(50)
        };
        self.row(what, grown, calls).await;
    }

    async fn stop(self) {
        for stack in self.stacks {
            stack.stop().await;
        }
    }
}

/// A grant, and the relay, fan-out and mail of one event, behind many events.
async fn events(sides: Sides, grown: &mut Vec<Growth>) {
    let mut shops = Vec::new();
    for (stack, events) in sides.each() {
        let customer = |n: usize| (format!("c-{n}"), json!({"name": "Ada", "email": format!("c-{n}@example.com")}));
        stack.recipients("CUSTOMER", (0..CUSTOMERS).map(customer)).await;
        handed_in(stack, (0..events).map(|n| mail(n, &format!("c-{}", n % CUSTOMERS)))).await;
        shops.push(stack.shop().await);
    }
    let grant = async |side: usize, n: usize| shops[side].grant(&format!("k-{n}"), "ada", &format!("unit-{n}")).await;
    sides.calls("a grant, behind so many events", grown, grant).await;
    // As many on both sides: what differs is what lies behind them.
    let mut prepared = [Vec::new(), Vec::new()];
    for (side, (stack, _)) in sides.each().into_iter().enumerate() {
        let inserts = listed(records(stack, "events", &["event_id"]).await);
        let is_handed_in = |record: &Value| record["dynamodb"]["NewImage"]["event_type"]["S"] == "Announcement";
        prepared[side] = inserts.into_iter().filter(is_handed_in).take(sides.little).collect();
    }
    sides.share("relay of one, behind so many events", "OutboxStreamFunction", prepared, grown).await;
    let mut prepared = [Vec::new(), Vec::new()];
    for (side, (stack, _)) in sides.each().into_iter().enumerate() {
        prepared[side] = listed(batches(stack, "fanout-customer").await);
    }
    sides.share("fan-out of one, behind so many events", "FanoutFunction", prepared, grown).await;
    let mut prepared = [Vec::new(), Vec::new()];
    for (side, (stack, _)) in sides.each().into_iter().enumerate() {
        while stack.sweep_for("sends").await > 0 && prepared[side].len() < sides.little {
            prepared[side].extend(listed(batches(stack, "deliver-email").await));
        }
    }
    sides.share("mail of one, behind so many events", "DeliverEmailFunction", prepared, grown).await;
    sides.stop().await;
}

/// The fan-out for one recipient, in groups of different sizes.
async fn recipients(sides: Sides, grown: &mut Vec<Growth>) {
    for (stack, people) in sides.each() {
        staff(stack, people).await;
    }
    let told = async |side: usize, round: usize| {
        let (stack, people) = sides.each()[side];
        handed_in(stack, std::iter::once(to_staff(&format!("e-{round}")))).await;
        stack.sweep().await;
        let messages = batches(stack, "fanout-restaurant-user").await;
        invoked(stack, "FanoutFunction", messages).await * 1e3 / people as f64
    };
    sides.row("fan-out for one recipient, in a group of", grown, told).await;
    sides.stop().await;
}

/// Reading the newest page of an inbox, marking one read, and reading a page when all of it is read.
async fn inbox(sides: Sides, grown: &mut Vec<Growth>) {
    let (mut callers, mut ids) = (Vec::new(), Vec::new());
    for (stack, events) in sides.each() {
        handed_in(stack, (0..events).map(|n| harness::announcement(&format!("e-{n}"), "ada", "Hear, hear"))).await;
        while stack.sweep().await > 0 {}
        let messages = batches(stack, "fanout-customer").await;
        invoked(stack, "FanoutFunction", messages).await;
        let ada = stack.customer("ada").await;
        ids.push(texts(&ada.all("/v1/inbox?limit=100", "notifications").await, "notification_id"));
        callers.push(ada);
    }
    let page = async |side: usize, _| callers[side].get("/v1/inbox?limit=20").await;
    sides.calls("a page of an inbox of so many unread", grown, page).await;
    let read = async |side: usize, n: usize| {
        callers[side].order(&format!("/v1/notifications/{}/read", ids[side][n]), &format!("r-{n}")).await
    };
    sides.calls("marking one read, in an inbox of so many", grown, read).await;
    for ada in &callers {
        ada.order("/v1/inbox/read-all", "all").await;
    }
    sides.calls("a page of an inbox of so many that are read", grown, page).await;
    sides.stop().await;
}

/// A page of the open dead letters, one of them, and its redrive.
async fn dead_letters(sides: Sides, grown: &mut Vec<Growth>) {
    let (mut operators, mut ids) = (Vec::new(), Vec::new());
    for (stack, letters) in sides.each() {
        let messages: Vec<Value> = (0..letters).map(poison).collect();
        let batches = messages.chunks(10).map(|records| json!({"Records": records})).collect();
        invoked(stack, "DeadLettersFunction", batches).await;
        let operator = stack.operator().await;
        let open = operator.get("/v1/dead-letters?status=OPEN&limit=100").await.json();
        ids.push(texts(open["dead_letters"].as_array().expect("dead letters"), "dead_letter_id"));
        operators.push(operator);
    }
    let page = async |side: usize, _| operators[side].get("/v1/dead-letters?status=OPEN&limit=20").await;
    sides.calls("a page of so many open dead letters", grown, page).await;
    let show = async |side: usize, n: usize| operators[side].get(&format!("/v1/dead-letters/{}", ids[side][n])).await;
    sides.calls("one of so many dead letters", grown, show).await;
    let redrive = async |side: usize, n: usize| {
        operators[side].order(&format!("/v1/dead-letters/{}/redrive", ids[side][n]), &format!("d-{n}")).await
    };
    sides.calls("redrive of one of so many dead letters", grown, redrive).await;
    sides.stop().await;
}

/// An announcement that goes out by mail.
fn mail(n: usize, user_id: &str) -> Value {
    let mut event = harness::announcement(&format!("e-{n}"), user_id, "Hear, hear");
    event["payload"]["channels"] = json!(["EMAIL"]);
    event
}

/// A message that nobody can read, as it comes from a dead letter queue.
fn poison(n: usize) -> Value {
    let arn = "arn:aws:sqs:us-east-1:000000000000:belfry-local-fanout-customer";
    json!({
        "messageId": format!("00000000-0000-4000-8000-{n:012}"), "receiptHandle": "r",
        "body": format!("poison {n}"), "messageAttributes": {}, "eventSource": "aws:sqs",
        "attributes": {"ApproximateReceiveCount": "1", "DeadLetterQueueSourceArn": arn},
        "eventSourceARN": format!("{arn}-dlq"), "awsRegion": "us-east-1",
    })
}

/// The records of all batches.
fn listed(batches: Vec<Value>) -> Vec<Value> {
    batches.into_iter().flat_map(|batch| batch["Records"].as_array().cloned().unwrap_or_default()).collect()
}

fn texts(rows: &[Value], name: &str) -> Vec<String> {
    rows.iter().map(|row| row[name].as_str().expect(name).to_owned()).collect()
}
