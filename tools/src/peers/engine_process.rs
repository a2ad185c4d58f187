//! The engine as a process of its own, so that what it uses of the processor can be told from what a contender uses.

use std::io::Read;
use std::process::Stdio;

use engine::{Engine, Ports};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// A running engine; it ends with this value.
pub struct EngineProcess {
    child: Child,
    /// It ends when this is closed, so it cannot outlive the driver.
    _input: ChildStdin,
    /// Where DynamoDB answers.
    pub dynamodb: String,
    /// Where SQS answers.
    pub sqs: String,
}

impl EngineProcess {
    /// Starts an empty one.
    pub async fn start() -> Self {
        let program = std::env::current_exe().expect("this program's path");
        let mut command = Command::new(program);
        command.arg("engine").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the engine starts");
        let input = child.stdin.take().expect("its input");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut line = async || lines.next_line().await.ok().flatten().expect("the engine says where it answers");
        let (dynamodb, sqs) = (line().await, line().await);
        Self { child, _input: input, dynamodb, sqs }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id().expect("it is running")
    }

    /// Ends it.
    pub async fn stop(mut self) {
        self.child.kill().await.expect("it was running");
    }
}

/// What that process does.
pub async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::start(Ports::default()).await?;
    println!("{}\n{}", engine.dynamodb_url(), engine.sqs_url());
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    engine.stop().await;
    Ok(())
}
