//! The engines that a stack of the tests runs on: the embedded ones, or a second implementation for comparison.

use std::process::Stdio;
use std::time::Duration;

use engine::{Engine, Ports};
use tokio::process::{Child, Command};

/// Names the command of the second engine, `ministack`. Unset, the embedded engines are used.
const SECOND: &str = "BELFRY_TEST_ENGINE";

/// Longer than any start takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

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
        let port = {
            let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
            free.local_addr().expect("an address").port()
        };
        let mut command = Command::new(command);
        command.envs([("GATEWAY_PORT", port.to_string()), ("BIND_HOST", "127.0.0.1".to_owned())]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let child = command.spawn().unwrap_or_else(|error| panic!("{SECOND}: {error}"));
        let url = format!("http://127.0.0.1:{port}");
        let answers = async {
            while reqwest::get(format!("{url}/_ministack/health")).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answers).await.unwrap_or_else(|_| panic!("{SECOND} does not answer"));
        Some(Self::Second(child, url))
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
