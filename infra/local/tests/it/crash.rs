//! A command whose host dies at a DynamoDB call, before it or after it, or whose call or answer is lost: repeated until
//! it succeeds, it has one effect, one event and one stored answer.

use std::sync::LazyLock;

use harness::Fault;
use serde_json::json;

use crate::belfry::Belfry;
use crate::world::{STREAM_OFF, World, template};

/// A command, and the calls that it makes to DynamoDB, in order.
struct Case {
    name: &'static str,
    path: &'static str,
    /// What has been done before.
    before: &'static [&'static str],
    calls: &'static [&'static str],
    status: u16,
    /// Events and keys in all, afterwards.
    events: usize,
    keys: usize,
}

const GRANTS: &str = "/v1/entitlements/grants";
const REVOKES: &str = "/v1/entitlements/revokes";

const CASES: [Case; 4] = [
    Case {
        name: "a grant that creates",
        path: GRANTS,
        before: &[],
        calls: &["TransactWriteItems"],
        status: 200,
        events: 1,
        keys: 1,
    },
    Case {
        name: "a grant after a revoke",
        path: GRANTS,
        before: &[GRANTS, REVOKES],
        calls: &["TransactWriteItems", "TransactWriteItems"],
        status: 200,
        events: 3,
        keys: 3,
    },
    Case {
        name: "a revoke",
        path: REVOKES,
        before: &[GRANTS],
        calls: &["BatchGetItem", "TransactWriteItems"],
        status: 200,
        events: 2,
        keys: 2,
    },
    Case {
        name: "a refused grant",
        path: GRANTS,
        before: &[GRANTS],
        calls: &["TransactWriteItems", "PutItem"],
        status: 409,
        events: 1,
        keys: 2,
    },
];

/// A template of the API alone: what the relay does is another test's business. Written once, for all tests.
static API_ALONE: LazyLock<String> = LazyLock::new(|| template("api-alone", &[STREAM_OFF]));

async fn send(world: &World, host: &Belfry, path: &str, key: &str) -> Option<(u16, String)> {
    let shop = json!({"sub": "shop", "user_type": "ADMIN_USER", "scopes": ["commands:write"]});
    let body = json!({"user_id": "u", "stock_keeping_unit": "s", "reason": "r", "purchase_id": "p"});
    world.post(host, shop, path, key, &body).await
}

async fn broken_at(case: &Case, call_index: usize, fault: Fault) {
    let cell = format!("{}, call {call_index} ({}), {fault:?}", case.name, case.calls[call_index]);
    let world = World::new(cell.clone(), &API_ALONE, &[]).await;
    let mut host = world.host().await;
    for (index, path) in case.before.iter().enumerate() {
        assert_eq!(send(&world, &host, path, &format!("before-{index}")).await.expect("an answer").0, 200, "{cell}");
    }
    let operation = case.calls[call_index];
    let same_before = case.calls[..call_index].iter().filter(|call| **call == operation).count();
    world.backends.dynamodb.break_after(operation, same_before, fault);
    let killed = matches!(fault, Fault::HeldBefore | Fault::HeldAfter);
    if killed {
        tokio::select! {
            answer = send(&world, &host, case.path, "k") => panic!("{cell}: not held, but {answer:?}"),
            () = world.backends.dynamodb.held() => {}
        }
        host.kill();
        world.backends.dynamodb.mend();
        host = world.host().await;
    }
    let answer = send(&world, &host, case.path, "k").await.expect("an answer");
    assert_eq!(answer.0, case.status, "{cell}: {}", answer.1);
    let again = send(&world, &host, case.path, "k").await.expect("an answer");
    assert_eq!(answer, again, "{cell}: a replay is the same byte for byte");
    assert_eq!(world.scan("events").await.len(), case.events, "{cell}: events");
    assert_eq!(world.scan("idempotency-keys").await.len(), case.keys, "{cell}: stored answers");
    assert_eq!(world.scan("entitlements").await.len(), 1, "{cell}: entitlements");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_host_is_killed_before_any_of_its_calls_has_one_effect() {
    for case in &CASES {
        for index in 0..case.calls.len() {
            broken_at(case, index, Fault::HeldBefore).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_host_is_killed_after_any_of_its_calls_has_one_effect() {
    for case in &CASES {
        for index in 0..case.calls.len() {
            broken_at(case, index, Fault::HeldAfter).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_loses_the_answer_of_any_of_its_calls_has_one_effect() {
    for case in &CASES {
        for index in 0..case.calls.len() {
            broken_at(case, index, Fault::AnswerLost).await;
            broken_at(case, index, Fault::NotSent).await;
        }
    }
}
