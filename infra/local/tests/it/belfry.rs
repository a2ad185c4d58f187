//! A `belfry` process, as a person runs it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

/// Variables of a process, beyond the test's own.
pub type Environment = [(String, String)];

/// A `belfry` process. It is killed when this is dropped.
pub struct Belfry {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub ready: String,
}

/// What a process left behind.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Belfry {
    /// Starts it and waits for the ready line.
    pub fn start(arguments: &[&str], environment: &Environment) -> Self {
        let mut child = command(arguments, environment).spawn().expect("belfry starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
        let mut ready = String::new();
        stdout.read_line(&mut ready).expect("a line");
        Self { child, stdout, ready: ready.trim_end().to_owned() }
    }

    pub fn url(&self) -> &str {
        self.ready.strip_prefix("belfry ready on ").expect("a ready line")
    }

    /// Stops it as Ctrl-C does. Returns its exit code and what else it printed.
    pub fn interrupt(self) -> (Option<i32>, String) {
        let Ended { code, stdout, .. } = self.end();
        (code, stdout)
    }

    /// The same, with its log.
    pub fn end(mut self) -> Ended {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
        let code = self.child.wait().expect("it ends").code();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).expect("its output");
        self.child.stderr.take().expect("its log").read_to_string(&mut stderr).expect("its log");
        Ended { code, stdout, stderr }
    }

    /// Kills it.
    pub fn kill(mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Belfry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn command(arguments: &[&str], environment: &Environment) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belfry"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "BELFRY_LOG"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().cloned());
    command
}

pub async fn call(client: &reqwest::Client, request: reqwest::RequestBuilder) -> Value {
    let request = request.build().expect("a request");
    client.execute(request).await.expect("an answer").json().await.expect("json")
}

pub async fn token(client: &reqwest::Client, url: &str, claims: Value) -> String {
    let answer = call(client, client.post(format!("{url}/local/tokens")).json(&claims)).await;
    answer["token"].as_str().expect("a token").to_owned()
}
