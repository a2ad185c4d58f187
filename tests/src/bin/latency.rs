//! Prints how long an event takes from `POST` to the inbox, and how the stack fares as it fills.
//!
//! `cargo run --release -p tests --bin latency` measures an idle stack; `-- --fill 100000` fills it first and compares
//! before and after in one run.

use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::stream::{self, StreamExt};
use tests::{Caller, Stack};

/// How long an event takes from POST to the inbox.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many events to time.
    #[arg(long, default_value_t = 200)]
    events: usize,
    /// How many events to put through the stack before measuring again.
    #[arg(long, default_value_t = 0)]
    fill: usize,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    measure(&stack, &shop, "warm-up", 20).await;
    let before = measure(&stack, &shop, "empty", arguments.events).await;
    print("empty stack", &before);
    if arguments.fill > 0 {
        let rates = fill(&stack, &shop, arguments.fill).await;
        let after = measure(&stack, &shop, "filled", arguments.events).await;
        print(&format!("after {} events", arguments.fill), &after);
        let (first, last) = (rates.first().copied().unwrap_or(0.0), rates.last().copied().unwrap_or(0.0));
        println!("events per second through the whole chain: first tenth {first:.0}, last tenth {last:.0}");
        println!("p50 after / before: {:.2}", ratio(percentile(&after, 50), percentile(&before, 50)));
        println!("rate last / first tenth: {:.2}", last / first);
    }
    stack.stop().await;
}

/// Times one event at a time: from sending the request until the inbox shows it.
async fn measure(stack: &Stack, shop: &Caller, name: &str, events: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(events);
    for index in 0..events {
        let user = format!("{name}-{index}");
        let customer = stack.customer(&user).await;
        let start = Instant::now();
        shop.grant(&user, &user, "premium").await;
        while customer.inbox_titles().await.is_empty() {}
        times.push(start.elapsed());
    }
    times.sort();
    times
}

/// Puts events through the whole chain, in ten equal parts; gives back the rate of each part.
async fn fill(stack: &Stack, shop: &Caller, events: usize) -> Vec<f64> {
    let part = (events / 10).max(1);
    let mut rates = Vec::new();
    for tenth in 0..10 {
        let start = Instant::now();
        stream::iter(0..part)
            .for_each_concurrent(16, |index| async move {
                let user = format!("fill-{tenth}-{index}");
                shop.grant(&user, &user, "premium").await;
            })
            .await;
        stack.idle().await;
        let rate = part as f64 / start.elapsed().as_secs_f64();
        eprintln!("{} of {events} events, {rate:.0} per second", part * (tenth + 1));
        rates.push(rate);
    }
    rates
}

fn print(name: &str, times: &[Duration]) {
    let millis = |percent| percentile(times, percent).as_secs_f64() * 1_000.0;
    println!("{name}: POST to inbox p50 {:.1} ms, p99 {:.1} ms ({} events)", millis(50), millis(99), times.len());
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::EPSILON)
}
