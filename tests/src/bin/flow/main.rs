//! How fast events go through a whole stack on one machine: `cargo run --profile measured -p tests --bin flow`.
//!
//! Three tables from one run: from `POST` to the inbox and to the provider at several rates, events per second of each
//! stage alone, and how each grows with ten times the data.

mod growth;
mod latency;
mod stages;

use clap::Parser;

/// How fast events go through.
#[derive(Debug, Parser)]
struct Arguments {
    /// A tenth of everything: to see that it works, not what it gives.
    #[arg(long)]
    quick: bool,
    /// Write charts of the latencies, the stages and the growth into this folder.
    #[arg(long)]
    svg: Option<std::path::PathBuf>,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let Arguments { quick, svg } = Arguments::parse();
    let scale = |count: usize| if quick { (count / 10).max(10) } else { count };
    let rates = latency::measure(scale).await;
    let stages = stages::measure(scale).await;
    let grown = growth::measure(scale).await;
    if let Some(folder) = svg {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("latency.svg"), latency::chart(&rates))?;
        std::fs::write(folder.join("stages.svg"), tests::chart::bars("Per second, each stage alone", &stages))?;
        std::fs::write(folder.join("growth.svg"), growth::chart(&grown))?;
    }
    Ok(())
}
