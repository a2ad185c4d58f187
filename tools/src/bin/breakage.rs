//! Runs the breakage matrix and prints it: `cargo run --bin breakage`.

use std::process::ExitCode;

use clap::Parser;
use tools::breakage::{
    Break, HEADER, Recorded, Row, Tally, UseCase, are_peers_installed, matrix, peers, recorded, use_cases,
};

/// Breaks every call of every use case in five ways, on the functions' release binaries, and counts the effects.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only use cases that have this in their name or that of their function.
    filter: Option<String>,
    /// How many cells are played at a time.
    #[arg(long, default_value_t = 3)]
    at_once: usize,
    /// Break nothing: only say which calls each use case makes, and what it leaves.
    #[arg(long)]
    unbroken: bool,
    /// Insist on the grant of Powertools for AWS Lambda beside Belfry's; without this it is played where it is installed
    /// (`scripts/peers --install`).
    #[arg(long)]
    peers: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { filter, at_once, unbroken, peers: insist } = Arguments::parse();
    let filter = filter.unwrap_or_default();
    if insist && !are_peers_installed() {
        eprintln!("Powertools is not there: scripts/peers --install");
        return ExitCode::FAILURE;
    }
    let mut chosen = use_cases();
    if are_peers_installed() {
        chosen.extend(peers());
    }
    chosen.retain(|use_case| use_case.name.contains(&filter) || use_case.function.contains(&filter));
    if chosen.is_empty() {
        eprintln!("no use case has {filter:?} in its name or in that of its function");
        return ExitCode::FAILURE;
    }
    if unbroken {
        return list(&chosen).await;
    }
    println!("{HEADER}");
    let rows = matrix(chosen, at_once, |row| println!("{row}")).await;
    let Tally { cells, wrong, as_set } = Tally::of(&rows, &Break::ALL);
    println!();
    println!("{cells} cells of {} calls: {wrong} wrong, {as_set} as documented.", rows.len());
    println!("A cell is effects seen / expected: rows, messages, and what providers did. ² the provider takes no key,");
    println!("and nobody can know whether it sent: told twice rather than not at all (`resend`). ? the same, held for");
    println!("an operator with a dead letter (`hold`). – this cannot happen to such a call.");
    for problem in rows.iter().flat_map(Row::problems) {
        println!("wrong: {problem}");
    }
    // What others get wrong is no failure of ours.
    let is_ours = |row: &&Row| row.function.ends_with("Function");
    let ours = Tally::of(rows.iter().filter(is_ours), &Break::ALL);
    if ours.wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn list(use_cases: &[UseCase]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for use_case in use_cases {
        match recorded(use_case).await {
            Ok(Recorded { calls, left, status }) => {
                let calls: Vec<&str> = calls.iter().map(|call| call.operation.as_str()).collect();
                let told = status.map(|status| format!("tells {status}; ")).unwrap_or_default();
                println!("{} ({}): {}; {told}leaves {left:?}", use_case.name, use_case.function, calls.join(", "));
            }
            Err(problem) => {
                println!("wrong: {}: {problem}", use_case.name);
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
