//! A stack behind meters. Every batch has one message or record, which is the worst case and the same on every run; and
//! nothing comes by the clock, so that a use case is billed for what it took and for nothing else.

use std::collections::BTreeMap;

use engine::{Engine, Ports};
use harness::meter::{Meter, Units};
use harness::{Answer, Caller, Stack, switched_off};
use local::{Endpoints, Options};
use reqwest::StatusCode;
use serde_json::Value;

use super::Cost;
use crate::prices::Used;

/// The function behind the HTTP API.
const API: &str = "ApiFunction";

/// A stack behind meters, and what was written down so far.
pub struct Metered {
    pub stack: Stack,
    engine: Engine,
    dynamodb: Meter,
    sqs: Meter,
    costs: Vec<Cost>,
}

impl Metered {
    /// Starts one.
    pub async fn start() -> Self {
        Self::with(template()).await
    }

    /// Starts one whose template has no event that begins with this line.
    pub async fn without(begins: &str) -> Self {
        Self::with(switched_off(&template(), begins)).await
    }

    async fn with(template: String) -> Self {
        let engine = Engine::start(Ports::default()).await.expect("the engines start");
        let (dynamodb, sqs) = (Meter::start(engine.dynamodb_url()).await, Meter::start(engine.sqs_url()).await);
        let endpoints = Some(Endpoints { dynamodb: dynamodb.url().to_owned(), sqs: sqs.url().to_owned() });
        // A wait that a test has not; it costs nothing.
        let settings = [("BELFRY_BACKOFF_BASE".to_owned(), "1ms".to_owned())].into();
        let stack = Stack::with(Options { endpoints, settings, template: Some(template), ..Options::default() }).await;
        Self { stack, engine, dynamodb, sqs, costs: Vec::new() }
    }

    /// Where SQS answers, metered.
    pub fn sqs_url(&self) -> &str {
        self.sqs.url()
    }

    /// Forgets what preparing took.
    pub async fn begin(&self) {
        self.stack.idle().await;
        self.taken();
    }

    /// The API answered as it should: waits until everything has come to rest, and writes down what it took.
    pub async fn note(&mut self, use_case: &'static str, answer: &Answer, expected: StatusCode) {
        assert_eq!(answer.status, expected, "{use_case}: {}", answer.text);
        self.write_down(use_case, Some(API)).await;
    }

    /// Gets something, and writes down what it took.
    pub async fn look(&mut self, use_case: &'static str, by: &Caller, path: &str) -> Value {
        self.begin().await;
        let answer = by.get(path).await;
        self.note(use_case, &answer, StatusCode::OK).await;
        answer.json()
    }

    /// The same for what begins with a call of this function, or with a message.
    pub async fn write_down(&mut self, use_case: &'static str, called: Option<&str>) {
        self.stack.idle().await;
        let mut functions: BTreeMap<String, Used> = BTreeMap::new();
        for (function, units) in self.taken().into_iter().filter(|(caller, _)| caller.ends_with("Function")) {
            // A poll that found nothing is nobody's.
            if units != Units::default() {
                functions.insert(function, Used { units, ..Used::default() });
            }
        }
        if let Some(called) = called {
            // Which is billed even where it asks for nothing.
            let used = functions.entry(called.to_owned()).or_default();
            used.calls += 1.0;
            used.http += f64::from(u8::from(called == API));
        }
        self.costs.push(Cost { use_case, functions });
    }

    /// What was used since the last time, by function.
    fn taken(&self) -> BTreeMap<String, Units> {
        let mut taken: BTreeMap<String, Units> = BTreeMap::new();
        for (function, units) in [&self.dynamodb, &self.sqs].into_iter().flat_map(Meter::take) {
            *taken.entry(function).or_default() += units;
        }
        taken
    }

    /// Stops the stack; gives what was written down.
    pub async fn stop(self) -> Vec<Cost> {
        self.stack.stop().await;
        self.engine.stop().await;
        self.costs
    }
}

/// The deployed template, in batches of one and with schedules that do not run meanwhile.
fn template() -> String {
    let deployed = include_str!("../../../infra/template.yaml");
    let single = deployed.replace("BatchSize: 100", "BatchSize: 1").replace("BatchSize: 10", "BatchSize: 1");
    // The first run of a schedule is one interval after the start.
    single.replace("rate(1 minute)", "rate(1 hour)")
}
