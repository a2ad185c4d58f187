//! One function of a stack, as a process.

use std::collections::BTreeMap;
use std::path::Path;

use harness::Stack;
use harness::lambda::{FUNCTIONS, Lambda, Outcome, binaries};
use local::Options;
use reqwest::Method;
use serde_json::{Value, json};

/// A stack whose functions nobody invokes but the test.
pub fn by_hand() -> Options {
    Options { by_hand: true, ..Options::default() }
}

/// What a function finds in its environment.
pub async fn environment(stack: &Stack, function: &str) -> BTreeMap<String, String> {
    let mut all = stack.call(Method::GET, "/local/environment", None).await.json();
    serde_json::from_value(all[function].take()).unwrap_or_else(|_| panic!("no function {function}"))
}

/// Starts a function's release binary beside a stack.
pub async fn start(stack: &Stack, function: &str) -> Lambda {
    Lambda::start(binary(function), &environment(stack, function).await).await
}

/// The release binary of a function.
pub fn binary(function: &str) -> &'static Path {
    let (_, name) = FUNCTIONS.iter().find(|(logical_id, _)| *logical_id == function).expect("a function");
    binaries().get(*name).unwrap_or_else(|| panic!("no binary {name}"))
}

/// A sample event, by the name of its file.
pub fn sample(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../infra/events/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Invokes a function with a sample twice, as AWS may do; both times everything in the batch must be done.
pub async fn twice(function: &mut Lambda, event: &Value) {
    for _ in 0..2 {
        assert_eq!(function.invoke(event.clone()).await, Outcome::Answered(json!({"batchItemFailures": []})));
    }
}

/// What the HTTP function answered.
#[derive(Debug)]
pub struct Http {
    pub status: u64,
    pub replayed: bool,
    pub body: Value,
}

/// Invokes the HTTP function with an event of API Gateway's.
pub async fn ask(api: &mut Lambda, event: Value) -> Http {
    let answer = api.invoke(event).await.answer();
    let body = answer["body"].as_str().unwrap_or_default();
    Http {
        status: answer["statusCode"].as_u64().expect("a status"),
        replayed: answer["headers"]["idempotency-replayed"] == "true",
        body: serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {body}")),
    }
}
