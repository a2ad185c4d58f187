//! What each use case costs: units as the engines report them and as refusals are billed, and dollars per million at AWS's list prices.

use clap::Parser;
use harness::meter::Units;
use tools::costs::measure;
use tools::prices::{Prices, Used};

#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    prices: Prices,
    /// How many messages or records a batch has: the requests and invocations of consumers are shared by so many.
    #[arg(long, default_value_t = 10.0)]
    batch: f64,
    /// Each function's part as well.
    #[arg(long)]
    functions: bool,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let column = if arguments.functions { " function |" } else { "" };
    let batch = arguments.batch;
    println!(
        "| use case |{column} write units | read units | SQS requests | invocations | USD per million | in batches of {batch} |"
    );
    println!("|---|{}---|---|---|---|---|---|", if arguments.functions { "---|" } else { "" });
    for cost in measure().await {
        let all = if arguments.functions { " all |" } else { "" };
        row(&arguments, &format!(" {} |{all}", cost.use_case), &cost.used());
        if arguments.functions && cost.functions.len() > 1 {
            for (function, used) in &cost.functions {
                row(&arguments, &format!(" | {function} |"), used);
            }
        }
    }
}

fn row(Arguments { prices, batch, .. }: &Arguments, begins: &str, used: &Used) {
    let Units { writes, reads, requests, .. } = used.units;
    let (one, many) = (prices.dollars(used), prices.dollars(&used.in_batches_of(*batch)));
    println!("|{begins} {writes} | {reads} | {requests} | {} | {one:.2} | {many:.2} |", used.invocations());
}
