//! A command whose host dies at a DynamoDB call, before it or after it, or whose call or answer is lost: repeated until
//! it succeeds, it has one effect, one event and one stored answer.
//!
//! On several threads, because starting a process blocks one while the proxy has to serve it.

use std::sync::LazyLock;

use engine::{Engine, Ports};
use serde_json::{Value, json};
use tests::{Fault, Proxy};

use crate::belfry::{Belfry, call, token};

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
static API_ALONE: LazyLock<String> = LazyLock::new(|| {
    let deployed = include_str!("../../../template.yaml");
    let alone =
        deployed.replace("            Stream: !GetAtt", "            Enabled: false\n            Stream: !GetAtt");
    assert_ne!(alone, deployed, "the template has a stream mapping to switch off");
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/api-alone.yaml");
    std::fs::write(path, alone).expect("a template");
    path.to_owned()
});

struct World {
    client: reqwest::Client,
    engine: Engine,
    proxy: Proxy,
}

impl World {
    async fn new() -> Self {
        let engine = Engine::start(Ports::default()).await.expect("engines");
        let proxy = Proxy::start(engine.dynamodb_url()).await;
        let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client");
        Self { client, engine, proxy }
    }

    fn host(&self) -> Belfry {
        let environment = [
            ("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), self.proxy.url().to_owned()),
            ("AWS_ENDPOINT_URL_SQS".to_owned(), self.engine.sqs_url().to_owned()),
        ];
        Belfry::start(&["--port", "0", "--template", &API_ALONE], &environment)
    }

    async fn send(&self, host: &Belfry, path: &str, key: &str) -> Option<(u16, String)> {
        let shop = token(
            &self.client,
            host.url(),
            json!({"sub": "shop", "user_type": "ADMIN_USER", "scopes": ["commands:write"]}),
        )
        .await;
        let body = json!({"user_id": "u", "stock_keeping_unit": "s", "reason": "r", "purchase_id": "p"});
        let request =
            self.client.post(format!("{}{path}", host.url())).bearer_auth(shop).header("idempotency-key", key);
        let response = request.json(&body).send().await.ok()?;
        Some((response.status().as_u16(), response.text().await.ok()?))
    }

    async fn count(&self, table: &str) -> usize {
        let body = json!({"TableName": format!("belfry-{table}"), "ConsistentRead": true, "Select": "COUNT"});
        let request = self.client.post(self.engine.dynamodb_url()).body(body.to_string());
        let request = request
            .header("x-amz-target", "DynamoDB_20120810.Scan")
            .header("content-type", "application/x-amz-json-1.0")
            .header(
                "authorization",
                "AWS4-HMAC-SHA256 Credential=a/b/c/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
            )
            .header("x-amz-date", "20260101T000000Z");
        let answer: Value = call(&self.client, request).await;
        usize::try_from(answer["Count"].as_u64().expect("a count")).expect("a small count")
    }
}

async fn broken_at(case: &Case, call_index: usize, fault: Fault) {
    let cell = format!("{}, call {call_index} ({}), {fault:?}", case.name, case.calls[call_index]);
    let world = World::new().await;
    let mut host = world.host();
    for (index, path) in case.before.iter().enumerate() {
        assert_eq!(world.send(&host, path, &format!("before-{index}")).await.expect("an answer").0, 200, "{cell}");
    }
    let operation = case.calls[call_index];
    let same_before = case.calls[..call_index].iter().filter(|call| **call == operation).count();
    world.proxy.break_after(operation, same_before, fault);
    let killed = matches!(fault, Fault::HeldBefore | Fault::HeldAfter);
    if killed {
        tokio::select! {
            answer = world.send(&host, case.path, "k") => panic!("{cell}: not held, but {answer:?}"),
            () = world.proxy.held() => {}
        }
        host.kill();
        world.proxy.mend();
        host = world.host();
    }
    let answer = world.send(&host, case.path, "k").await.expect("an answer");
    assert_eq!(answer.0, case.status, "{cell}: {}", answer.1);
    let again = world.send(&host, case.path, "k").await.expect("an answer");
    assert_eq!(answer, again, "{cell}: a replay is the same byte for byte");
    assert_eq!(world.count("events").await, case.events, "{cell}: events");
    assert_eq!(world.count("idempotency-keys").await, case.keys, "{cell}: stored answers");
    assert_eq!(world.count("entitlements").await, 1, "{cell}: entitlements");
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
