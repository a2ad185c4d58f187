//! A fresh engine with the tables of everybody, and the environment that contenders find.

use std::collections::BTreeMap;

use crate::contenders::{Contender, tables};
use harness::Stack;
use harness::lambda::{Lambda, Outcome};
use local::{Endpoints, Options};
use reqwest::Method;

use super::engine_process::EngineProcess;

/// How often something is measured before it is given up.
const MOST: usize = 5;

/// One stage; everything on it is gone with it.
pub struct Stage {
    pub engine: EngineProcess,
    environment: BTreeMap<String, String>,
}

impl Stage {
    /// Starts an engine and has the local host make the tables of the template, which then goes.
    pub async fn set() -> Self {
        let engine = EngineProcess::start().await;
        let endpoints = Endpoints { dynamodb: engine.dynamodb.clone(), sqs: engine.sqs.clone() };
        let options = Options { endpoints: Some(endpoints), by_hand: true, ..Options::default() };
        let stack = Stack::with(options).await;
        for table in tables() {
            stack.ask_dynamodb("CreateTable", &table).await;
        }
        let mut all = stack.call(Method::GET, "/local/environment", None).await.json();
        let environment = serde_json::from_value(all["ApiFunction"].take()).expect("the environment of the API");
        stack.stop().await;
        Self { engine, environment }
    }

    /// The same with DynamoDB behind something that stands at this address.
    pub fn behind(mut self, url: &str) -> Self {
        self.environment.insert("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), url.to_owned());
        self
    }

    /// What a contender finds in its environment.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// Starts a contender and waits until it asks for work.
    pub async fn enter(&self, contender: Contender) -> Lambda {
        let mut process = Lambda::run(&contender.program(&self.environment)).await;
        process.until_first_poll().await;
        process
    }
}

/// A contender that did not grant: on a machine that is busy with other things, a call may take longer than its client
/// waits. What was measured then says nothing, and is measured again.
#[derive(Debug)]
pub struct NotGranted {
    contender: Contender,
    outcome: Outcome,
}

/// Whether a contender has granted.
pub fn granted(contender: Contender, outcome: Outcome) -> Result<(), NotGranted> {
    match &outcome {
        Outcome::Answered(answer) if answer["statusCode"] == 200 => Ok(()),
        _ => Err(NotGranted { contender, outcome }),
    }
}

/// Does something until everybody in it has granted, a few times at most.
pub async fn until_granted<T>(mut measured: impl AsyncFnMut() -> Result<T, NotGranted>) -> T {
    for _ in 1..MOST {
        match measured().await {
            Ok(measured) => return measured,
            Err(NotGranted { contender, outcome }) => eprintln!("again: {} gave {outcome:?}", contender.name()),
        }
    }
    measured().await.expect("a grant, at last")
}
