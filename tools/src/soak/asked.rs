//! What was asked and what was answered: the caller's side of the audit.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;

use super::schedule::Op;
use super::skipped::Move;
use super::world::Answered;

/// A command as it is asked, the same each time.
#[derive(Debug, Clone)]
pub struct Command {
    /// Who asks.
    pub claims: Value,
    /// The path that is posted to.
    pub path: String,
    /// The key.
    pub key: String,
    /// The body, where it has one.
    pub body: Option<Value>,
}

/// A command, and every definite answer that it got.
#[derive(Debug)]
pub struct Asked {
    /// What the step was for.
    pub op: Op,
    /// The command.
    pub command: Command,
    /// The answers, in the order in which they came.
    pub answers: Vec<Answered>,
}

impl Asked {
    /// The answer that is stored under the key, if one is: what depends on the request or the caller alone is not.
    pub fn stored(&self) -> Option<&Answered> {
        self.answers.iter().find(|answer| is_stored(answer))
    }

    /// The accepted answer, as JSON.
    pub fn accepted(&self) -> Option<Value> {
        let accepted = self.answers.iter().find(|(status, _)| (200..300).contains(status));
        accepted.and_then(|(_, text)| serde_json::from_str(text).ok())
    }
}

/// The error's code, if it is one.
pub fn code(answer: &Answered) -> String {
    let body: Value = serde_json::from_str(&answer.1).unwrap_or_default();
    body["code"].as_str().unwrap_or_default().to_owned()
}

/// Whether such an answer is stored under its key.
pub fn is_stored(answer: &Answered) -> bool {
    match answer.0 {
        200..300 => true,
        409 => code(answer) != "IDEMPOTENCY_KEY_CONFLICT",
        _ => false,
    }
}

/// Everything that was asked, by step, and what was found wrong while asking.
#[derive(Debug, Default)]
pub struct Log {
    inner: Mutex<Inner>,
    done: Notify,
}

/// What the log holds.
#[derive(Debug, Default)]
pub struct Inner {
    /// Commands by the number of their step.
    pub asked: BTreeMap<usize, Asked>,
    /// Events that were handed in, by the number of their step, and whether they were accepted.
    pub handed_in: BTreeMap<usize, bool>,
    /// When each person was given new addresses.
    pub moves: BTreeMap<usize, Vec<Move>>,
    /// How many steps of each kind were taken.
    pub kinds: BTreeMap<String, u64>,
    /// Counts of what happened, for the summary.
    pub counts: BTreeMap<&'static str, u64>,
    /// The step that took longest, of which kind it was.
    pub slowest: Option<(Duration, String)>,
    /// What was wrong at once.
    pub violations: Vec<String>,
    finished: std::collections::BTreeSet<usize>,
}

impl Log {
    /// The log.
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts something.
    pub fn count(&self, what: &'static str, times: u64) {
        *self.lock().counts.entry(what).or_default() += times;
    }

    /// Notes how long a step took.
    pub fn took(&self, op: &Op, time: Duration) {
        let mut inner = self.lock();
        if inner.slowest.as_ref().is_none_or(|(slowest, _)| *slowest < time) {
            inner.slowest = Some((time, op.kind()));
        }
    }

    /// Notes something that must not be.
    pub fn violation(&self, violation: String) {
        self.lock().violations.push(violation);
    }

    /// Notes that a step is done.
    pub fn finish(&self, n: usize, kind: String) {
        let mut inner = self.lock();
        inner.finished.insert(n);
        *inner.kinds.entry(kind).or_default() += 1;
        self.done.notify_waiters();
    }

    /// Returns when a step is done.
    pub async fn until_done(&self, n: usize) {
        loop {
            let mut notified = std::pin::pin!(self.done.notified());
            notified.as_mut().enable();
            if self.lock().finished.contains(&n) {
                return;
            }
            notified.await;
        }
    }
}
