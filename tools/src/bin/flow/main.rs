//! How fast events go through a whole stack on one machine: `cargo run --profile measured --bin flow`.
//!
//! Three tables from one run: from `POST` to the inbox and to the provider at several rates, events per second of each
//! stage alone, and how each grows with ten times the data.

mod growth;
mod latency;
mod stages;

use clap::{Parser, ValueEnum};

/// How fast events go through.
#[derive(Debug, Parser)]
struct Arguments {
    /// A tenth of everything: to see that it works, not what it gives.
    #[arg(long)]
    quick: bool,
    /// Only these parts.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Write charts of the latencies, the stages and the growth into this folder.
    #[arg(long)]
    svg: Option<std::path::PathBuf>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// From `POST` to the inbox and to the provider.
    Latency,
    /// Each stage alone.
    Stages,
    /// With ten times the data.
    Growth,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let Arguments { quick, only, svg } = Arguments::parse();
    let scale = |count: usize| if quick { (count / 10).max(10) } else { count };
    let is_asked = |part| only.is_empty() || only.contains(&part);
    let mut charts = Vec::new();
    if is_asked(Part::Latency) {
        charts.push(("latency.svg", latency::chart(&latency::measure(scale).await)));
    }
    if is_asked(Part::Stages) {
        charts.push(("stages.svg", tools::chart::bars("Per second, each stage alone", &stages::measure(scale).await)));
    }
    if is_asked(Part::Growth) {
        charts.push(("growth.svg", growth::chart(&growth::measure(scale).await)));
    }
    if let Some(folder) = svg {
        std::fs::create_dir_all(&folder)?;
        for (name, chart) in charts {
            std::fs::write(folder.join(name), chart)?;
        }
    }
    Ok(())
}
