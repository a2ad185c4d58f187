//! How long a function's binary takes from the start of its process until it asks for work, how big it is, and how much
//! memory it then holds.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use harness::clients;
use harness::lambda::{FUNCTIONS, Lambda, binaries};
use local::{Host, Options};
use serde_json::Value;

use crate::timing::Times;

/// The starts of one binary.
#[derive(Debug)]
pub struct Starts {
    /// Its name.
    pub name: &'static str,
    /// Bytes of the binary.
    pub size: u64,
    /// How long each start took.
    pub times: Times,
    /// The most bytes that it held in memory.
    pub resident: u64,
}

/// Starts each binary that is chosen so many times, one process at a time, in rounds.
pub async fn measure(
    rounds: usize,
    is_chosen: impl Fn(&str) -> bool,
) -> Result<Vec<Starts>, Box<dyn std::error::Error>> {
    let host = Host::start(Options { port: 0, by_hand: true, ..Options::default() }).await?;
    let environments =
        clients::http().get(format!("{}/local/environment", host.url())).send().await?.json::<Value>().await?;
    let environment = |function: &str| -> Result<BTreeMap<String, String>, serde_json::Error> {
        serde_json::from_value(environments[function].clone())
    };
    // One function of each binary: those of the channels share theirs.
    let one_of_each: BTreeMap<&str, &str> = FUNCTIONS.into_iter().map(|(function, name)| (name, function)).collect();
    let mut starts: BTreeMap<&str, Vec<(Duration, u64)>> = BTreeMap::new();
    for _ in 0..rounds {
        for (name, function) in one_of_each.iter().filter(|(name, _)| is_chosen(name)) {
            let mut process = Lambda::start(binary(name)?, &environment(function)?).await;
            let start = process.until_first_poll().await;
            starts.entry(name).or_default().push((start, resident(process.id())?));
        }
    }
    host.stop().await;
    let summed = starts.into_iter().map(|(name, starts)| {
        let (times, resident): (Vec<_>, Vec<_>) = starts.into_iter().unzip();
        let resident = resident.into_iter().max().unwrap_or_default();
        Ok(Starts { name, size: std::fs::metadata(binary(name)?)?.len(), times: Times::new(times), resident })
    });
    summed.collect()
}

fn binary(name: &str) -> Result<&'static Path, String> {
    binaries().get(name).map(|path| path.as_path()).ok_or_else(|| format!("no binary {name}"))
}

/// Bytes that the process holds in memory.
fn resident(id: u32) -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kilobytes * 1024)
}
