//! Belfry's idempotent command against its limit and its peers, on one engine, from one run: `scripts/peers`.
//!
//! Everybody grants the same: Belfry, a bare handler that writes the same items in one transaction, and Powertools for AWS
//! Lambda in Python and in TypeScript with one business write. Everybody is a process per concurrent request that asks a
//! stand-in of Lambda's Runtime API for work, and speaks plain HTTP to an engine in a process of its own.

mod calls;
mod engine_process;
mod instructions;
mod load;
mod processor;
mod report;
mod stage;
mod summary;
mod turns;

use std::path::PathBuf;

use crate::breakage::{grants, matrix};
use crate::contenders::Contender;
use crate::prices::Prices;
use crate::{costs, latency, starts};
use clap::{Parser, Subcommand, ValueEnum};

use report::Figures;
use turns::Turns;

/// How many messages or records share the requests and invocations of consumers, where a chain is priced.
const BATCH: f64 = 10.0;

/// Belfry's idempotent command against its limit and its peers.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// How many rounds there are; each contender has one turn in each, at each number of connections. In a multiple of four
    /// each is as often first as last.
    #[arg(long, default_value_t = 8)]
    rounds: usize,
    /// How many requests are timed in a turn, over all connections.
    #[arg(long, default_value_t = 640)]
    requests: usize,
    /// How many requests each process answers before those that are timed: those with a compiler at run time need them.
    #[arg(long, default_value_t = 100)]
    warm_up: usize,
    /// Little of everything: to see that it works, not what it gives.
    #[arg(long)]
    quick: bool,
    /// Only these parts.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Write charts into this folder.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Measure nothing: write where Belfry's instructions go into this file, for `callgrind_annotate`.
    #[arg(long)]
    profile: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The engine, which this program starts for each turn; it ends with its standard input.
    #[command(hide = true)]
    Engine,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Calls to DynamoDB.
    Calls,
    /// Every call broken in five ways.
    Breakage,
    /// Latency, throughput and CPU.
    Load,
    /// Instructions per request.
    Instructions,
    /// Start and size.
    Starts,
    /// From a command to the inbox.
    Inbox,
    /// What a whole chain costs.
    Cost,
}

/// Measures what the arguments of this process ask for, and prints it.
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { command, mut rounds, mut requests, mut warm_up, quick, only, svg, profile } = Arguments::parse();
    if matches!(command, Some(Command::Engine)) {
        return engine_process::serve().await;
    }
    if let Some(file) = profile {
        instructions::profile(Contender::Belfry, &file).await;
        return Ok(());
    }
    if quick {
        (rounds, requests, warm_up) = (rounds.min(2), requests.min(64), warm_up.min(10));
    }
    let is_asked = |part| only.is_empty() || only.contains(&part);
    let mut figures = Figures::default();
    if is_asked(Part::Calls) {
        figures.calls = calls::count().await;
    }
    if is_asked(Part::Breakage) {
        figures.broken = matrix(grants(), 2, |row| eprintln!("{row}")).await;
    }
    if is_asked(Part::Load) {
        figures.turns = Turns(load::measure(rounds, requests, warm_up).await);
    }
    if is_asked(Part::Instructions) {
        figures.instructions = instructions::measure(quick).await;
    }
    if is_asked(Part::Starts) {
        figures.starts = starts::measure(if quick { 5 } else { 50 }, |_| true).await?;
    }
    if is_asked(Part::Inbox) {
        figures.inbox = Some(latency::at_rate(10, if quick { 20 } else { 200 }).await);
    }
    if is_asked(Part::Cost) {
        figures.chain = Some(Prices::default().dollars(&costs::chain().await.in_batches_of(BATCH)));
    }
    print!("{figures}");
    if let Some(folder) = svg {
        std::fs::create_dir_all(&folder)?;
        for (name, chart) in figures.charts() {
            std::fs::write(folder.join(name), chart)?;
        }
    }
    Ok(())
}
