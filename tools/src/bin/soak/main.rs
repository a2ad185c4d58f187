//! The soak: `cargo run --bin soak -- --seconds 1800 --seed 7`. Random commands, duplicates, redeliveries, poison,
//! faults and kills; then everything comes to rest and is audited. It ends with 1 where anything is wrong. It says how to ask
//! the same steps again; when each happens is never the same.
//!
//! `soak host TEMPLATE` is the process that is killed: the local host on the engines and providers that the environment
//! names. It ends when its input does.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use local::{Endpoints, Host, Options as HostOptions};
use tools::soak::{Options, Soak};

/// Random commands, duplicates, redeliveries, poison, faults and kills, and an audit of what came of them.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// For how long steps are taken.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// What is asked follows from it; a new one each time by default.
    #[arg(long)]
    seed: Option<u64>,
    /// How many steps are taken at most; however many there is time for by default.
    #[arg(long)]
    steps: Option<usize>,
    /// How many steps are taken at the same time.
    #[arg(long, default_value_t = 6)]
    at_once: usize,
    /// A folder for the hosts' logs.
    #[arg(long)]
    logs: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The host that is killed.
    #[command(hide = true)]
    Host {
        /// The template that it runs.
        template: PathBuf,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Host { template }) => host(template).await,
        None => soak(arguments).await,
    }
}

async fn soak(arguments: Arguments) -> ExitCode {
    let seed = arguments.seed.unwrap_or_else(rand::random);
    eprintln!("seed {seed}");
    let soak = Soak::start(Options {
        seed,
        lasting: Duration::from_secs(arguments.seconds),
        most_steps: arguments.steps,
        at_once: arguments.at_once,
        host: vec![std::env::current_exe().expect("this program").into(), "host".into()],
        logs: arguments.logs,
    })
    .await;
    println!("{}", soak.run().await);
    eprintln!("coming to rest");
    let mut violations: Vec<String> = soak.rest().await.err().into_iter().collect();
    violations.extend(soak.audit().await);
    for violation in &violations {
        println!("{violation}");
    }
    println!("{}", soak.summary(violations.len()).await);
    soak.stop().await;
    if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn host(template: PathBuf) -> ExitCode {
    let settings = std::env::vars().filter(|(name, _)| name.starts_with("BELFRY_")).collect();
    runtime::log_as_json(&runtime::Settings::from_env(), "warn", std::io::stderr).expect("a log");
    let options = HostOptions {
        port: 0,
        template: Some(std::fs::read_to_string(template).expect("the template")),
        settings,
        endpoints: Endpoints::from_env().expect("both endpoints"),
        ..HostOptions::default()
    };
    let host = match Host::start(options).await {
        Ok(host) => host,
        Err(problem) => {
            eprintln!("soak host: {problem}");
            return ExitCode::FAILURE;
        }
    };
    println!("belfry ready on {}", host.url());
    // Nobody writes to it: it ends with whoever started this.
    let _ = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await;
    host.stop().await;
    ExitCode::SUCCESS
}
