//! What each use case costs: units as the engines report them, and dollars per million at AWS's list prices.

use std::collections::BTreeMap;

use clap::Parser;
use tests::costs::{Cost, measure};
use tests::meter::Units;

/// List prices of us-east-1, in dollars per million, and what cannot be measured on a laptop.
#[derive(Debug, Parser)]
struct Arguments {
    /// A million write request units of DynamoDB, on demand.
    #[arg(long, default_value_t = 0.625)]
    write_units: f64,
    /// A million read request units.
    #[arg(long, default_value_t = 0.125)]
    read_units: f64,
    /// A million requests of SQS.
    #[arg(long, default_value_t = 0.40)]
    sqs_requests: f64,
    /// A million requests of an HTTP API.
    #[arg(long, default_value_t = 1.00)]
    http_requests: f64,
    /// A million invocations.
    #[arg(long, default_value_t = 0.20)]
    invocations: f64,
    /// A GB-second of Lambda, x86_64.
    #[arg(long, default_value_t = 0.000_016_666_7)]
    gigabyte_second: f64,
    /// Memory of the functions, in MB.
    #[arg(long, default_value_t = 256.0)]
    memory: f64,
    /// How long an invocation takes, in milliseconds: depends on the network between Lambda and what it calls.
    #[arg(long, default_value_t = 15.0)]
    duration: f64,
    /// How many messages or records a batch has: the requests and invocations of consumers are shared by so many.
    #[arg(long, default_value_t = 10.0)]
    batch: f64,
}

impl Arguments {
    /// Dollars for a million times these units, each batch of one message.
    fn dollars(&self, units: &Units, invocations: f64, http: f64) -> f64 {
        let seconds = self.duration / 1e3 * self.memory / 1024.0;
        self.write_units * units.writes
            + self.read_units * units.reads
            + self.sqs_requests * units.requests
            + self.http_requests * http
            + invocations * (self.invocations + self.gigabyte_second * seconds * 1e6)
    }
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let mut use_cases: Vec<(&str, Vec<Cost>)> = Vec::new();
    for cost in measure().await {
        match use_cases.last_mut() {
            Some((use_case, costs)) if *use_case == cost.use_case => costs.push(cost),
            _ => use_cases.push((cost.use_case, vec![cost])),
        }
    }
    let batch = arguments.batch;
    println!("USD per million, for batches of one and of {batch}:\n");
    println!(
        "| use case | function | write units | read units | SQS requests | invocations | USD, one | USD, {batch} |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (use_case, costs) in use_cases {
        let mut all = (Units::default(), 0.0, 0.0);
        let mut rows = BTreeMap::new();
        for Cost { function, units, .. } in costs {
            let http = f64::from(u8::from(function == "ApiFunction"));
            let invocations = units.batches.max(http);
            all.0 += units;
            all.1 += invocations;
            all.2 += http;
            rows.insert(function, (units, invocations, http));
        }
        row(&arguments, use_case, "all", &all);
        if rows.len() > 1 {
            for (function, used) in &rows {
                row(&arguments, "", function, used);
            }
        }
    }
}

fn row(arguments: &Arguments, use_case: &str, function: &str, (units, invocations, http): &(Units, f64, f64)) {
    let Units { writes, reads, requests, .. } = units;
    let one = arguments.dollars(units, *invocations, *http);
    let shared = Units { requests: requests / arguments.batch, ..*units };
    let many = arguments.dollars(&shared, *http + (invocations - http) / arguments.batch, *http);
    println!("| {use_case} | {function} | {writes} | {reads} | {requests} | {invocations} | {one:.2} | {many:.2} |");
}
