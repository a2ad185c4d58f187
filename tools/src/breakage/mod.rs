//! The breakage matrix: every call that a use case makes to DynamoDB, SQS or a provider, broken in five ways, on the
//! release binary of its function; repeated or redelivered as callers and AWS do; and the effects counted.
//!
//! Which calls there are is not written down anywhere: they are recorded while the use case runs unbroken. What it
//! leaves then, invoked twice, is what every broken run has to leave too; that it leaves something at all is written
//! down, see [`UseCase::leaves`].

mod cell;
mod commands;
mod consumers;
mod effects;
mod inbox;
mod lines;
mod notify;
mod peers;
mod request;
mod saga;
mod scene;
mod sweeps;
mod unknown;

use std::panic::AssertUnwindSafe;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, StreamExt};
use harness::Fault;
use serde_json::Value;

use cell::played;
pub use cell::{Cell, Recorded, Verdict, recorded};
pub use effects::Effects;
pub use lines::{HEADER, Tally};
pub use peers::{are_peers_installed, grants, peers};
pub(crate) use request::Request;
pub use scene::Scene;

/// A use case: what stands before it, which function is invoked with what, and what it leaves.
pub struct UseCase {
    /// Its name.
    pub name: &'static str,
    /// The function, by its logical id.
    pub function: &'static str,
    /// Does what comes before it, and says what the function is invoked with.
    pub prepare: for<'a> fn(&'a Scene) -> BoxFuture<'a, Value>,
    /// Some of what it leaves, and how many of each: see [`Effects`].
    pub leaves: &'static [(&'static str, usize)],
    /// What happens where nobody can know whether a provider that takes no key has sent it.
    pub unknown: Option<Unknown>,
}

/// What a channel's setting makes of a send whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// It is sent again: told twice rather than not at all.
    Resent,
    /// It is held for an operator: told once or not at all.
    Held,
}

/// Whom a call goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// DynamoDB.
    DynamoDb,
    /// SQS.
    Sqs,
    /// A provider of a channel or of payments.
    Provider,
}

/// One call of a use case: the so-manieth of its operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Whom it goes to.
    pub service: Service,
    /// The operation; of a provider, the path or the verb.
    pub operation: String,
    /// How many of the kind come before it.
    pub before: usize,
}

impl Call {
    fn is_read(&self) -> bool {
        ["BatchGetItem", "GetItem", "Query", "Scan"].contains(&self.operation.as_str())
    }

    /// Whether it hands a message to a channel's provider: what only fetches a token for that tells nobody anything.
    fn is_send(&self) -> bool {
        let is_path = |path: &str| self.operation.starts_with(path);
        self.service == Service::Provider
            && (self.operation == "SendTextMessage"
                || self.operation.ends_with("/messages:send")
                || is_path("/v2/email/")
                || is_path("/slack/"))
    }
}

/// How a call is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The process is killed before the call arrives.
    KilledBefore,
    /// The process is killed after the call has taken effect, before its answer.
    KilledAfter,
    /// The call takes effect, and its answer is lost.
    AnswerLost,
    /// Refused: too many requests.
    Throttled,
    /// Refused: somebody else is at the same item, or at the same key.
    Conflict,
}

impl Break {
    /// All of them, in the order of the columns.
    pub const ALL: [Self; 5] =
        [Self::KilledBefore, Self::KilledAfter, Self::AnswerLost, Self::Throttled, Self::Conflict];

    /// What the proxy does; nothing where this cannot happen to such a call.
    fn fault(self, call: &Call) -> Option<Fault> {
        let takes_keys = call.operation.contains("payment_intents")
            || ["/v1/refunds", "confirm", "cancel"].contains(&call.operation.as_str());
        match (self, call.service) {
            (Self::KilledBefore, _) => Some(Fault::HeldBefore),
            (Self::KilledAfter, _) => Some(Fault::HeldAfter),
            (Self::AnswerLost, _) => Some(Fault::AnswerLost),
            (Self::Throttled, Service::Provider) => Some(Fault::TooMany),
            (Self::Throttled, _) => Some(Fault::Throttled),
            (Self::Conflict, Service::DynamoDb) => (!call.is_read()).then_some(Fault::Conflict),
            (Self::Conflict, Service::Provider) => takes_keys.then_some(Fault::InUse),
            (Self::Conflict, Service::Sqs) => None,
        }
    }

    fn kills(self) -> bool {
        matches!(self, Self::KilledBefore | Self::KilledAfter)
    }
}

/// One line of the matrix: a call, broken in each way that it can be.
#[derive(Debug)]
pub struct Row {
    /// The use case.
    pub use_case: &'static str,
    /// The function.
    pub function: &'static str,
    /// The call.
    pub call: Call,
    /// What came of it, in the order of [`Break::ALL`].
    pub cells: Vec<Option<Cell>>,
}

impl Row {
    /// The line of a use case that does not even go well unbroken.
    fn unplayed(use_case: &UseCase, problem: String) -> Self {
        let call = Call { service: Service::DynamoDb, operation: "nothing broken".to_owned(), before: 0 };
        let wrong = Cell { expected: 0, seen: 0, verdict: Verdict::Wrong(vec![problem]) };
        let cells = Break::ALL.iter().enumerate().map(|(index, _)| (index == 0).then(|| wrong.clone())).collect();
        Self { use_case: use_case.name, function: use_case.function, call, cells }
    }
}

/// The calls to break: all of them, but of a row of the same reads (a query for each partition, or for each socket) the
/// first and the last.
fn chosen(calls: &[Call]) -> Vec<usize> {
    let is_same = |one: Option<&Call>, call: &Call| one.is_some_and(|one| one.operation == call.operation);
    let is_inside = |index: usize| {
        let call = &calls[index];
        let before = index.checked_sub(1).and_then(|before| calls.get(before));
        call.is_read() && is_same(before, call) && is_same(calls.get(index + 1), call)
    };
    (0..calls.len()).filter(|index| !is_inside(*index)).collect()
}

/// Every use case.
pub fn use_cases() -> Vec<UseCase> {
    [commands::all(), consumers::all(), sweeps::all()].into_iter().flatten().collect()
}

/// Plays these use cases, `at_once` cells at a time; `told` hears of each row as it is done. What goes wrong in one cell is
/// that cell's: the others are played all the same.
pub async fn matrix(use_cases: Vec<UseCase>, at_once: usize, mut told: impl FnMut(&Row)) -> Vec<Row> {
    let mut rows = Vec::new();
    for use_case in &use_cases {
        let unbroken = match caught(recorded(use_case)).await.and_then(|recorded| recorded) {
            Ok(recorded) => recorded,
            Err(problem) => {
                let row = Row::unplayed(use_case, problem);
                told(&row);
                rows.push(row);
                continue;
            }
        };
        let cells = chosen(&unbroken.calls).into_iter().flat_map(|index| Break::ALL.map(|broken| (index, broken)));
        let unbroken = &unbroken;
        let played = stream::iter(cells).map(async |(index, broken)| {
            let cell = caught(played(use_case, unbroken, index, broken)).await;
            let expected = unbroken.left.total();
            let wrong = |problem| Some(Cell { expected, seen: 0, verdict: Verdict::Wrong(vec![problem]) });
            (index, cell.unwrap_or_else(wrong))
        });
        let mut played = std::pin::pin!(played.buffered(at_once.max(1)));
        let mut cells = Vec::new();
        while let Some((index, cell)) = played.next().await {
            cells.push(cell);
            if cells.len() == Break::ALL.len() {
                let (call, cells) = (unbroken.calls[index].clone(), std::mem::take(&mut cells));
                let row = Row { use_case: use_case.name, function: use_case.function, call, cells };
                told(&row);
                rows.push(row);
            }
        }
    }
    rows
}

/// What came of it, or what it panicked with.
async fn caught<T>(played: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(played).catch_unwind().await.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("it could not be played: {}", text.unwrap_or("a panic without a word"))
    })
}
