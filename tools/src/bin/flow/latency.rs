//! From `POST` to the answer, to the inbox and to the provider, at several rates.

use tools::latency::{Rate, at_rate, saturated};

/// Measures and prints.
pub async fn measure(scale: impl Fn(usize) -> usize) -> Vec<Rate> {
    println!("| events per second | POST answered, p50 / p99 ms | in the inbox | at the provider |");
    println!("|---|---|---|---|");
    let mut rates = Vec::new();
    for (per_second, events) in [(1, 30), (10, 200), (100, 2_000)] {
        rates.push(printed(at_rate(per_second, scale(events)).await));
    }
    rates.push(printed(saturated(scale(5_000)).await));
    println!();
    rates
}

fn printed(rate: Rate) -> Rate {
    println!("| {} | {} | {} | {} |", rate.name, rate.answered, rate.told, rate.sent);
    rate
}

/// A bar for each rate and place, p50, on a scale of powers of ten.
pub fn chart(rates: &[Rate]) -> String {
    let rows: Vec<(String, f64)> = rates
        .iter()
        .flat_map(|rate| {
            // What there is to say of a rate stands in the table.
            let name = rate.name.split(" (").next().unwrap_or_default();
            let places = [("answered", &rate.answered), ("in the inbox", &rate.told), ("at the provider", &rate.sent)];
            places.map(|(place, times)| (format!("{name}/s, {place}"), times.millis(50)))
        })
        .collect();
    tools::chart::bars("From POST, p50 in milliseconds", &rows)
}
