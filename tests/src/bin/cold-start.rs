//! How big each function's release binary is, how long it takes from the start of its process until it asks for work, and
//! how much memory it then holds. Prints a table.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use local::{Host, Options};
use serde_json::Value;
use tests::lambda::{FUNCTIONS, Lambda, binaries};

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
    let built = binaries();
    let host = Host::start(Options { port: 0, by_hand: true, ..Options::default() }).await?;
    let environments = reqwest::get(format!("{}/local/environment", host.url())).await?.json::<Value>().await?;
    let environment = |function: &str| -> Result<BTreeMap<String, String>, serde_json::Error> {
        serde_json::from_value(environments[function].clone())
    };
    let mut starts: BTreeMap<&str, Vec<(Duration, u64)>> = BTreeMap::new();
    for _ in 0..rounds {
        // One function of each binary: those of the channels share theirs.
        let one_of_each: BTreeMap<&str, &str> =
            FUNCTIONS.into_iter().map(|(function, name)| (name, function)).collect();
        for (name, function) in one_of_each {
            let path = built.get(name).ok_or_else(|| format!("no binary {name}"))?;
            let mut process = Lambda::start(path, &environment(function)?).await;
            let start = process.until_first_poll().await;
            starts.entry(name).or_default().push((start, resident(process.id())?));
        }
    }
    println!("{:<14} {:>9} {:>16} {:>16} {:>12}", "binary", "size, MB", "start p50, ms", "start p90, ms", "RSS, MB");
    for (name, mut starts) in starts {
        starts.sort_unstable();
        let at = |part: usize| starts[(starts.len() - 1) * part / 100].0.as_secs_f64() * 1e3;
        let most = starts.iter().map(|(_, resident)| *resident).max().unwrap_or_default();
        println!(
            "{name:<14} {:>9.2} {:>16.2} {:>16.2} {:>12.1}",
            megabytes(size(&built[name])?),
            at(50),
            at(90),
            megabytes(most)
        );
    }
    host.stop().await;
    Ok(())
}

fn size(path: &Path) -> std::io::Result<u64> {
    Ok(std::fs::metadata(path)?.len())
}

/// Bytes that the process holds in memory.
fn resident(id: u32) -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kilobytes * 1024)
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
