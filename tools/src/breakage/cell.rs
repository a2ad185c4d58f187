//! One cell: a use case with one call broken, repeated until it is done, and what it left.

use std::time::Duration;

use harness::lambda::{Lambda, Outcome};
use serde_json::{Value, json};

use super::unknown::{is_as_set, is_unknown};
use super::{Break, Call, Effects, Scene, Unknown, UseCase};

/// How often a caller repeats, or a queue delivers, before it is given up as not coming to an end: longer than any lease.
const MOST: usize = 200;
/// What a caller waits before it repeats: what a killed worker holds is free again within some of these.
const PAUSE: Duration = Duration::from_millis(100);

/// What a caller may be told beside what an unbroken run tells, where the call had its effect and nobody heard of it: who
/// deletes again finds nothing, and a ticket opens one socket, which is nobody's if the function dies: the client asks for
/// another ticket.
const TOLD_INSTEAD: [(&str, u64); 3] = [("recipient deleted", 404), ("key evicted", 404), ("socket opened", 401)];

/// What came of breaking one call.
#[derive(Debug, Clone)]
pub struct Cell {
    /// How many effects there should be in all.
    pub expected: i64,
    /// How many there are.
    pub seen: i64,
    /// Whether that is right.
    pub verdict: Verdict,
}

/// Whether a broken run left what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Exactly what an unbroken run leaves.
    Right,
    /// What the channel's setting says for an outcome that nobody can know.
    AsSet(Unknown),
    /// Something else.
    Wrong(Vec<String>),
}

/// What a use case does when nothing is broken.
#[derive(Debug)]
pub struct Recorded {
    /// The calls of its first run.
    pub calls: Vec<Call>,
    /// What is left when it ran twice.
    pub left: Effects,
    /// What the first caller was told, where somebody is told a status.
    pub status: Option<u64>,
}

/// Runs a use case unbroken, twice as AWS may: which calls the first run makes, what it tells, and what both leave.
pub async fn recorded(use_case: &UseCase) -> Result<Recorded, String> {
    let scene = Scene::set().await;
    let event = (use_case.prepare)(&scene).await;
    let before = scene.effects().await;
    scene.take_calls();
    let mut process = scene.start(use_case.function).await;
    let event = delivered(&event, 1);
    let first = process.invoke(event.clone()).await;
    let calls = scene.take_calls();
    let again = process.invoke(event).await;
    for outcome in [&first, &again] {
        if !is_done(outcome) {
            return Err(format!("unbroken, it gave {outcome:?}"));
        }
    }
    let left = scene.effects().await;
    scene.strike().await;
    // Even what is refused or stopped leaves its answer or its mark.
    if left == before {
        return Err(format!("unbroken, it changed nothing that is seen: {left:?}"));
    }
    let missing = use_case.leaves.iter().find(|(name, count)| usize::try_from(left.of(name)) != Ok(*count));
    match missing {
        Some((name, count)) => Err(format!("{name} are not {count} of {left:?}")),
        None => Ok(Recorded { calls, left, status: status(&first) }),
    }
}

/// Breaks one call of a use case; nothing where it cannot be broken so.
pub async fn played(use_case: &UseCase, unbroken: &Recorded, index: usize, broken: Break) -> Option<Cell> {
    let Recorded { calls, left: expected, .. } = unbroken;
    let call = &calls[index];
    let fault = broken.fault(call)?;
    let scene = Scene::set().await;
    let event = (use_case.prepare)(&scene).await;
    scene.take_calls();
    scene.plan(call, fault);
    let mut problems = Vec::new();
    let (process, first) = until_done(&scene, use_case, &event, broken.kills()).await;
    match first {
        None => problems.push("never done".to_owned()),
        Some(first) => {
            problems.extend(told_otherwise(&first, use_case, unbroken.status, call, broken));
            problems.extend(not_the_same(&first, process, event.clone()).await);
        }
    }
    if scene.unmet() > 0 {
        problems.push("the call was not made".to_owned());
    }
    let mut seen = scene.effects().await;
    // What a sweeper that was killed had claimed is the next one's in a second.
    for _ in 0..MOST {
        if use_case.function != "SweepFunction" || seen == *expected {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        let _ = scene.start(use_case.function).await.invoke(event.clone()).await;
        seen = scene.effects().await;
    }
    scene.strike().await;
    problems.extend(seen.differences(expected));
    let verdict = match problems.is_empty() {
        true => Verdict::Right,
        false => match use_case.unknown.filter(|unknown| is_unknown(calls, index, broken, *unknown)) {
            Some(unknown) if is_as_set(unknown, &seen, expected) => Verdict::AsSet(unknown),
            _ => Verdict::Wrong(problems),
        },
    };
    Some(Cell { expected: expected.total(), seen: seen.total(), verdict })
}

/// Invokes a function until it has done its work, in a new process where one was killed.
async fn until_done(scene: &Scene, use_case: &UseCase, event: &Value, kills: bool) -> (Lambda, Option<Outcome>) {
    let mut process = scene.start(use_case.function).await;
    let mut killed = !kills;
    for delivery in 1..=MOST {
        let event = delivered(event, delivery);
        let outcome = tokio::select! {
            outcome = process.invoke(event) => outcome,
            () = scene.held(), if !killed => {
                killed = true;
                process.kill().await;
                scene.mend();
                process = scene.start(use_case.function).await;
                continue;
            }
        };
        if is_done(&outcome) {
            return (process, Some(outcome));
        }
        tokio::time::sleep(PAUSE).await;
    }
    (process, None)
}

/// The event as it is delivered that time: a message says how often it came.
fn delivered(event: &Value, delivery: usize) -> Value {
    let mut event = event.clone();
    for record in event["Records"].as_array_mut().into_iter().flatten() {
        if record["eventSource"] == "aws:sqs" {
            // Not so often that it is given up, unless that is the use case: what is tested is what comes before that.
            let said = record["attributes"]["ApproximateReceiveCount"].as_str().and_then(|said| said.parse().ok());
            let count = said.unwrap_or(1).max(delivery.min(3));
            record["attributes"]["ApproximateReceiveCount"] = json!(count.to_string());
        }
    }
    event
}

/// Done: an answer that a caller would not repeat for, or a batch of which nothing has to come again.
fn is_done(outcome: &Outcome) -> bool {
    let Outcome::Answered(answer) = outcome else { return false };
    match answer["statusCode"].as_u64() {
        Some(status) => status < 500,
        None => answer["batchItemFailures"].as_array().is_none_or(Vec::is_empty),
    }
}

fn status(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Answered(answer) => answer["statusCode"].as_u64(),
        Outcome::Failed(_) | Outcome::Died => None,
    }
}

/// A caller is told in the end what an unbroken run tells.
fn told_otherwise(
    first: &Outcome,
    use_case: &UseCase,
    expected: Option<u64>,
    call: &Call,
    broken: Break,
) -> Option<String> {
    let told = status(first);
    let unheard = !call.is_read() && matches!(broken, Break::KilledAfter | Break::AnswerLost);
    let is_excused = TOLD_INSTEAD.iter().any(|(name, other)| *name == use_case.name && told == Some(*other));
    (told != expected && !(unheard && is_excused)).then(|| format!("told {told:?} and not {expected:?}: {first:?}"))
}

/// A command that is repeated once more has the same answer, byte for byte. A request without a key may have another one:
/// an event that was handed in before is answered as a duplicate.
async fn not_the_same(first: &Outcome, mut process: Lambda, event: Value) -> Option<String> {
    let is_command = event["headers"]["idempotency-key"].is_string();
    let again = process.invoke(event).await;
    if !is_command {
        return None;
    }
    let part = |outcome: &Outcome, name: &str| match outcome {
        Outcome::Answered(answer) => answer[name].clone(),
        _ => Value::Null,
    };
    let differs = |name| part(first, name) != part(&again, name);
    (differs("statusCode") || differs("body")).then(|| format!("answers differ: {first:?} and {again:?}"))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::super::Service;
    use super::*;

    fn use_case(name: &'static str) -> UseCase {
        UseCase {
            name,
            function: "ApiFunction",
            prepare: |_| async { Value::Null }.boxed(),
            leaves: &[],
            unknown: None,
        }
    }

    #[test]
    fn a_caller_who_is_told_otherwise_is_found_out_unless_a_delete_was_unheard() {
        let told = |status: u16| Outcome::Answered(json!({"statusCode": status}));
        let call = Call { service: Service::DynamoDb, operation: "DeleteItem".to_owned(), before: 0 };
        let otherwise = |name, told, broken| told_otherwise(&told, &use_case(name), Some(204), &call, broken).is_some();
        assert!(!otherwise("revoke", told(204), Break::Conflict));
        assert!(otherwise("revoke", told(404), Break::AnswerLost));
        assert!(!otherwise("key evicted", told(404), Break::AnswerLost));
        assert!(otherwise("key evicted", told(404), Break::Throttled));
        assert!(otherwise("key evicted", told(400), Break::AnswerLost));
    }
}
