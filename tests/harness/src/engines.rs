//! The engines that a stack of the tests runs on: the embedded ones, or a second implementation for comparison.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use engine::{Engine, Ports};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::clients;

/// Names the command of the second engine, `ministack`. Unset, the embedded engines are used.
const SECOND: &str = "BELFRY_TEST_ENGINE";

/// Longer than any start takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many ports are tried: between finding one free and taking it, somebody else may.
const PORTS: u32 = 5;

/// DynamoDB and SQS of a test's own.
#[derive(Debug)]
pub enum Engines {
    /// In this process.
    Embedded(Engine),
    /// A process of the second engine, which ends with this value, and where it answers.
    Second(Child, String),
}

impl Engines {
    /// Starts engines.
    pub async fn start() -> Self {
        match Self::second().await {
            Some(second) => second,
            None => Self::Embedded(Engine::start(Ports::default()).await.expect("the engines start")),
        }
    }

    /// Starts the second engine, if the tests are to run on it.
    pub async fn second() -> Option<Self> {
        let command = std::env::var_os(SECOND)?;
        for _ in 0..PORTS {
            let begun = tokio::time::timeout(PATIENCE, begin(&command)).await;
            if let Some((child, url)) = begun.unwrap_or_else(|_| panic!("{SECOND} does not answer")) {
                return Some(Self::Second(child, url));
            }
        }
        panic!("{SECOND} lost its port {PORTS} times");
    }

    /// Where DynamoDB answers.
    pub fn dynamodb_url(&self) -> &str {
        match self {
            Self::Embedded(engine) => engine.dynamodb_url(),
            Self::Second(_, url) => url,
        }
    }

    /// Where SQS answers.
    pub fn sqs_url(&self) -> &str {
        match self {
            Self::Embedded(engine) => engine.sqs_url(),
            Self::Second(_, url) => url,
        }
    }

    /// Stops them.
    pub async fn stop(self) {
        match self {
            Self::Embedded(engine) => engine.stop().await,
            Self::Second(mut child, _) => child.kill().await.expect("it was running"),
        }
    }
}

/// Starts a process of the second engine; nothing where it lost its port, be it to another one of its kind, which answers
/// there just as well.
async fn begin(command: &OsStr) -> Option<(Child, String)> {
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        free.local_addr().expect("an address").port()
    };
    // It says so of itself, so that it can be told from others.
    let edition = uuid::Uuid::new_v4().to_string();
    let mut command = Command::new(command);
    command.envs([("GATEWAY_PORT", port.to_string().as_str()), ("BIND_HOST", "127.0.0.1")]);
    command.env("MINISTACK_EDITION", &edition);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{SECOND}: {error}"));
    let url = format!("http://127.0.0.1:{port}");
    loop {
        if child.try_wait().expect("it can be asked").is_some() {
            return None;
        }
        if let Ok(answer) = clients::http().get(format!("{url}/_ministack/health")).send().await {
            let health: Value = answer.json().await.unwrap_or_default();
            return (health["edition"] == edition.as_str()).then_some((child, url));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
