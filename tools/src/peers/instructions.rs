//! Instructions per request, counted by valgrind: the slope between few and many requests, so that neither the start nor
//! the end of a process counts. Not time, so whatever else the machine does has no say.

use std::path::Path;
use std::time::Duration;

use crate::contenders::{Contender, grant};
use harness::lambda::{Lambda, Outcome, Program};

use super::stage::{NotGranted, Stage, granted, until_granted};

/// Longer than any call takes under valgrind that does not hang.
const PATIENCE: Duration = Duration::from_secs(600);

/// Millions of instructions of each contender for one first command; nothing where it does not run under valgrind.
pub async fn measure(quick: bool) -> Vec<(Contender, Option<f64>)> {
    let mut all = Vec::new();
    for contender in Contender::ALL {
        let (few, many) = match contender {
            Contender::Belfry | Contender::Bare if !quick => (50, 450),
            _ if quick => (10, 30),
            // V8 compiles what is called often once more, and CPython specialises it: not until it is warm is it a line.
            _ => (150, 350),
        };
        let counts = tokio::join!(counted(contender, few), counted(contender, many));
        let slope = match counts {
            (Some(at_few), Some(at_many)) => Some(slope((few, at_few), (many, at_many)) / 1e6),
            _ => None,
        };
        eprintln!("{}: {slope:.3?} M instructions per request", contender.name());
        all.push((contender, slope));
    }
    all
}

/// What one request more adds.
fn slope((few, at_few): (usize, u64), (many, at_many): (usize, u64)) -> f64 {
    (at_many as f64 - at_few as f64) / (many as f64 - few as f64)
}

/// The instructions of a process that has granted so often.
async fn counted(contender: Contender, requests: usize) -> Option<u64> {
    let options = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"];
    let said = until_granted(async || driven(contender, requests, &options).await).await?;
    let count = instructions(&said);
    if count.is_none() {
        eprintln!("{}: valgrind did not count: {said}", contender.name());
    }
    count
}

/// Writes down where the instructions of many first commands go, for `callgrind_annotate`. Takes a binary with symbols.
pub async fn profile(contender: Contender, file: &Path) {
    let options = ["--tool=callgrind", &format!("--callgrind-out-file={}", file.display())];
    until_granted(async || driven(contender, 1_000, &options).await).await;
}

/// What a process says that has granted so often under valgrind; nothing where it died of it.
async fn driven(contender: Contender, requests: usize, options: &[&str]) -> Result<Option<String>, NotGranted> {
    let stage = Stage::set().await;
    let program = contender.program(stage.environment());
    let mut process = Lambda::run(&under_valgrind(program, options)).await;
    for request in 0..requests {
        let id = format!("counted-{request}");
        let outcome = process.invoke_within(PATIENCE, grant(&id, &id)).await;
        if outcome == Outcome::Died {
            eprintln!("{}: {}", contender.name(), process.said().await);
            return Ok(None);
        }
        granted(contender, outcome)?;
    }
    process.terminate().await;
    Ok(Some(process.said().await))
}

fn under_valgrind(program: Program, options: &[&str]) -> Program {
    let options = options.iter().chain([&"--"]).map(|option| (*option).to_owned());
    let own = std::iter::once(program.path.display().to_string()).chain(program.arguments);
    Program { path: Path::new("/usr/bin/valgrind").to_owned(), arguments: options.chain(own).collect(), ..program }
}

/// What cachegrind says at the end: `==1== I   refs:      127,771`.
fn instructions(said: &str) -> Option<u64> {
    let line = said.lines().rfind(|line| line.starts_with("==") && line.contains("refs:"))?;
    line.split("refs:").nth(1)?.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn what_cachegrind_says_is_read_and_the_start_does_not_count() {
        let said = "==7== Command: /bin/true\n{\"level\":\"INFO\"}\n==7== I   refs:      1,127,771\n";
        assert_eq!(instructions(said), Some(1_127_771));
        assert_eq!(instructions("Segmentation fault"), None);
        assert_eq!(slope((10, 1_000 + 10 * 7), (110, 1_000 + 110 * 7)), 7.0);
    }
}
