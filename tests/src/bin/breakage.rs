//! Runs the breakage matrix and prints it: `cargo run -p tests --bin breakage`.

use std::process::ExitCode;

use clap::Parser;
use tests::breakage::{Break, Cell, Row, Unknown, UseCase, Verdict, matrix, recorded, use_cases};

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
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { filter, at_once, unbroken } = Arguments::parse();
    let filter = filter.unwrap_or_default();
    let mut chosen = use_cases();
    chosen.retain(|use_case| use_case.name.contains(&filter) || use_case.function.contains(&filter));
    if unbroken {
        return list(&chosen).await;
    }
    println!("| use case | function | call | killed before | killed after | answer lost | throttled | conflict |");
    println!("|---|---|---|---|---|---|---|---|");
    let rows = matrix(chosen, at_once, |row| println!("{}", line(row))).await;
    let cells: Vec<&Cell> = rows.iter().flat_map(|row| &row.cells).flatten().collect();
    let wrong = cells.iter().filter(|cell| matches!(cell.verdict, Verdict::Wrong(_))).count();
    let as_set = cells.iter().filter(|cell| matches!(cell.verdict, Verdict::AsSet(_))).count();
    println!();
    println!("{} cells of {} calls: {wrong} wrong, {as_set} as the channel's setting says.", cells.len(), rows.len());
    println!("A cell is effects seen / expected: rows, messages, and what providers did. ² the provider takes no key,");
    println!("and nobody can know whether it sent: told twice rather than not at all (`resend`). ? the same, held for");
    println!("an operator with a dead letter (`hold`). – this cannot happen to such a call.");
    for row in &rows {
        for (broken, cell) in Break::ALL.iter().zip(&row.cells) {
            if let Some(Cell { verdict: Verdict::Wrong(problems), .. }) = cell {
                println!("wrong: {}, {}, {broken:?}: {}", row.use_case, named(row), problems.join("; "));
            }
        }
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn list(use_cases: &[UseCase]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for use_case in use_cases {
        match recorded(use_case).await {
            Ok((calls, left)) => {
                let calls: Vec<&str> = calls.iter().map(|call| call.operation.as_str()).collect();
                println!("{} ({}): {}; leaves {left:?}", use_case.name, use_case.function, calls.join(", "));
            }
            Err(problem) => {
                println!("wrong: {problem}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn line(row: &Row) -> String {
    let cells = row.cells.iter().map(|cell| match cell {
        None => "–".to_owned(),
        Some(Cell { seen, expected, verdict }) => {
            let mark = match verdict {
                Verdict::Right => "",
                Verdict::AsSet(Unknown::Resent) => " ²",
                Verdict::AsSet(Unknown::Held) => " ?",
                Verdict::Wrong(_) => " **wrong**",
            };
            format!("{seen}/{expected}{mark}")
        }
    });
    let function = row.function.trim_end_matches("Function");
    format!("| {} | {function} | {} | {} |", row.use_case, named(row), cells.collect::<Vec<_>>().join(" | "))
}

/// The call, with its number where there are several of the kind.
fn named(row: &Row) -> String {
    let operation = match row.call.operation.as_str() {
        "/v2/email/outbound-emails" => "SES: SendEmail",
        "SendTextMessage" => "SMS: SendTextMessage",
        "/token" => "FCM: token",
        "/v1/payment_intents" => "payments: create",
        "confirm" => "payments: confirm",
        "cancel" => "payments: cancel",
        "/v1/refunds" => "payments: refund",
        path if path.contains("/messages:send") => "FCM: send",
        path if path.starts_with("/slack/") => "Slack: webhook",
        operation => operation,
    };
    match row.call.before {
        0 => operation.to_owned(),
        before => format!("{operation} {}", before + 1),
    }
}
