//! How big each function's release binary is, how long it takes from the start of its process until it asks for work, and
//! how much memory it then holds. Prints a table.

use clap::Parser;
use tools::starts::{Starts, measure};

/// Starts every function over and over, one process at a time, in rounds.
#[derive(Debug, Parser)]
struct Arguments {
    /// How often each is started.
    #[arg(long, default_value_t = 50)]
    rounds: usize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { rounds } = Arguments::parse();
    let starts = measure(rounds, |_| true).await?;
    println!("{:<14} {:>9} {:>16} {:>16} {:>12}", "binary", "size, MB", "start p50, ms", "start p90, ms", "RSS, MB");
    for Starts { name, size, times, resident } in starts {
        let (p50, p90) = (times.millis(50), times.millis(90));
        println!("{name:<14} {:>9.2} {p50:>16.2} {p90:>16.2} {:>12.1}", megabytes(size), megabytes(resident));
    }
    Ok(())
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
