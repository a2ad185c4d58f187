//! Latency, throughput and CPU, in rounds: in each, everybody has a turn on an engine of its own at each number of
//! connections, and whoever was first in one round is last in the next. Medians over the rounds.

use std::time::{Duration, Instant};

use crate::contenders::{Contender, grant};
use crate::timing::Times;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use harness::lambda::Lambda;
use serde_json::Value;

use super::processor::used;
use super::stage::{NotGranted, Stage, granted, until_granted};

/// How many requests are under way at a time: as many processes, as in Lambda.
pub const CONNECTIONS: [usize; 3] = [1, 8, 32];

/// How many processes start at a time.
const STARTING: usize = 4;

/// What came of one turn.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    pub contender: Contender,
    pub connections: usize,
    pub round: usize,
    /// In milliseconds.
    pub p50: f64,
    /// In milliseconds.
    pub p99: f64,
    pub per_second: f64,
    /// CPU of the contender's processes per request, in milliseconds.
    pub cpu: f64,
    /// CPU of the engine per request, in milliseconds.
    pub engine_cpu: f64,
    /// CPU of this program per request, in milliseconds: the Runtime API and whoever calls, the same for everybody.
    pub driver_cpu: f64,
    /// How often it was measured in vain before, because somebody was not granted.
    pub again: usize,
}

/// Measures everybody.
pub async fn measure(rounds: usize, requests: usize, warm_up: usize) -> Vec<Turn> {
    let mut turns = Vec::new();
    for round in 0..rounds {
        for connections in CONNECTIONS {
            for contender in order(round) {
                let mut tries = 0;
                let measured = until_granted(async || {
                    tries += 1;
                    turn(contender, connections, (requests, warm_up)).await
                });
                let measured = measured.await;
                let turn = Turn { round, again: tries - 1, ..measured };
                eprintln!("{turn:.2?}");
                turns.push(turn);
            }
        }
    }
    turns
}

/// Who comes when in this round.
fn order(round: usize) -> [Contender; 4] {
    let mut order = Contender::ALL;
    order.rotate_left(round % Contender::ALL.len());
    order
}

async fn turn(
    contender: Contender,
    connections: usize,
    (requests, warm_up): (usize, usize),
) -> Result<Turn, NotGranted> {
    let stage = Stage::set().await;
    let processes: Vec<Lambda> =
        stream::iter(0..connections).map(|_| stage.enter(contender)).buffered(STARTING).collect().await;
    let (processes, _) = driven(contender, processes, "warm", warm_up).await?;
    let before = spent(&processes, &stage);
    let each = (requests / connections).max(1);
    let begun = Instant::now();
    let (processes, times) = driven(contender, processes, "timed", each).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let after = spent(&processes, &stage);
    let count = (each * connections) as f64;
    let per_request = |before: Duration, after: Duration| (after - before).as_secs_f64() * 1e3 / count;
    let times = Times::new(times);
    for process in processes {
        process.kill().await;
    }
    stage.engine.stop().await;
    Ok(Turn {
        contender,
        connections,
        round: 0,
        p50: times.millis(50),
        p99: times.millis(99),
        per_second: count / seconds,
        cpu: per_request(before[0], after[0]),
        engine_cpu: per_request(before[1], after[1]),
        driver_cpu: per_request(before[2], after[2]),
        again: 0,
    })
}

/// What the processes, the engine and this program have used of the processor so far.
fn spent(processes: &[Lambda], stage: &Stage) -> [Duration; 3] {
    let processes = processes.iter().map(|process| used(process.id())).sum();
    [processes, used(stage.engine.id()), used(std::process::id())]
}

/// Has each process do so many first commands, one after the other and all processes at the same time.
async fn driven(
    contender: Contender,
    processes: Vec<Lambda>,
    name: &str,
    each: usize,
) -> Result<(Vec<Lambda>, Vec<Duration>), NotGranted> {
    let driving = processes.into_iter().enumerate().map(|(number, mut process)| {
        let ids = (0..each).map(|request| format!("{name}-{number}-{request}"));
        let events: Vec<Value> = ids.map(|id| grant(&id, &id)).collect();
        tokio::spawn(async move {
            let mut times = Vec::with_capacity(events.len());
            for event in events {
                let begun = Instant::now();
                let outcome = process.invoke(event).await;
                times.push(begun.elapsed());
                granted(contender, outcome)?;
            }
            Ok((process, times))
        })
    });
    let driven = join_all(driving).await.into_iter().map(|driven| driven.expect("nobody panics"));
    let (processes, times): (Vec<_>, Vec<_>) = driven.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    Ok((processes, times.concat()))
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn in_as_many_rounds_as_there_are_contenders_each_is_once_at_each_place() {
        for place in 0..Contender::ALL.len() {
            let mut there: Vec<Contender> = (0..Contender::ALL.len()).map(|round| order(round)[place]).collect();
            there.sort();
            assert_eq!(there, Contender::ALL);
        }
    }
}
