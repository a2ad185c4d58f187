//! The binary as a person runs it: what it prints, how it stops, and what survives when it is killed.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Variables of a process, beyond the test's own.
type Environment = [(String, String)];

/// A `belfry` process; it is ended when this is dropped, however the test ends.
struct Belfry {
    child: Child,
    stdout: BufReader<ChildStdout>,
    ready: String,
}

impl Belfry {
    /// Starts it and waits for its ready line.
    fn start(arguments: &[&str], environment: &Environment) -> Self {
        let mut child = command(arguments, environment).spawn().expect("belfry starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
        let mut ready = String::new();
        stdout.read_line(&mut ready).expect("a line");
        Self { child, stdout, ready: ready.trim_end().to_owned() }
    }

    fn url(&self) -> &str {
        self.ready.strip_prefix("belfry ready on ").expect("a ready line")
    }

    /// Asks it to stop as Ctrl-C does, and gives back its exit code and what else it printed.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
        let status = self.child.wait().expect("it ends");
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("its output");
        (status.code(), rest)
    }

    /// Ends it at once, wherever it is.
    fn kill(mut self) {
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

fn command(arguments: &[&str], environment: &Environment) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belfry"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "BELFRY_LOG"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().cloned());
    command
}

/// What the engine's line tells a host to use.
fn engine_environment(engine: &Belfry) -> Vec<(String, String)> {
    let line = engine.ready.strip_prefix("belfry engine ready ").expect("an engine's ready line");
    let pairs = line.split(' ').map(|pair| pair.split_once('=').expect("NAME=value"));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

async fn call(client: &reqwest::Client, request: reqwest::RequestBuilder) -> Value {
    let request = request.build().expect("a request");
    client.execute(request).await.expect("an answer").json().await.expect("json")
}

async fn token(client: &reqwest::Client, url: &str, claims: Value) -> String {
    let answer = call(client, client.post(format!("{url}/local/tokens")).json(&claims)).await;
    answer["token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn it_says_when_it_can_serve_and_stops_cleanly_when_interrupted() {
    let belfry = Belfry::start(&["--port", "0"], &[]);
    let health = call(&reqwest::Client::new(), reqwest::Client::new().get(format!("{}/health", belfry.url()))).await;
    assert_eq!(health, json!({"status": "ok"}));
    assert_eq!(belfry.interrupt(), (Some(0), String::new()), "it ends with success and prints one line in all");
}

#[test]
fn the_engines_alone_print_one_line_and_stop_cleanly() {
    let engine = Belfry::start(&["engine"], &[]);
    let names: Vec<String> = engine_environment(&engine).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"]);
    assert_eq!(engine.interrupt().0, Some(0));
}

#[test]
fn a_taken_port_and_half_an_environment_are_clear_errors() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let dynamodb = [("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), "http://127.0.0.1:1".to_owned())];
    let cases: [(&[&str], &Environment, &str); 4] = [
        (&["--port", &port], &[], "is taken"),
        (&["--port", "0"], &dynamodb, "AWS_ENDPOINT_URL_SQS is not set"),
        (&["--template", "no-such-file.yaml"], &[], "no-such-file.yaml"),
        (&["engine", "--dynamodb-port", &port], &[], &port),
    ];
    for (arguments, environment, expected) in cases {
        let output = command(arguments, environment).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[tokio::test]
async fn a_host_killed_after_its_answer_loses_nothing_and_tells_nobody_twice() {
    let engine = Belfry::start(&["engine"], &[]);
    let environment = engine_environment(&engine);
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client");
    // A message that a killed consumer held comes back when its visibility ends; three minutes of that are too long.
    let template = concat!(env!("CARGO_TARGET_TMPDIR"), "/short-visibility.yaml");
    let deployed = include_str!("../../template.yaml");
    let short = deployed.replace("Timeout: 30", "Timeout: 2").replace("VisibilityTimeout: 180", "VisibilityTimeout: 2");
    std::fs::write(template, short).expect("a template");
    let arguments = ["--port", "0", "--template", template];
    let rounds = 6;
    for round in 0..rounds {
        let host = Belfry::start(&arguments, &environment);
        let shop =
            token(&client, host.url(), json!({"sub": "shop", "user_type": "ADMIN_USER", "scopes": ["commands:write"]}))
                .await;
        let grant = json!({
            "user_id": "u-1", "stock_keeping_unit": format!("unit-{round}"), "reason": "PURCHASE", "purchase_id": "p",
        });
        let request = client.post(format!("{}/v1/entitlements/grants", host.url())).bearer_auth(&shop);
        let granted = call(&client, request.header("idempotency-key", format!("k-{round}")).json(&grant)).await;
        assert_eq!(granted["status"], "ACTIVE", "{granted}");
        // Somewhere between the answer and the inbox: a little later in each round.
        for _ in 0..round {
            call(&client, client.get(format!("{}/health", host.url()))).await;
        }
        host.kill();
    }
    let host = Belfry::start(&arguments, &environment);
    let idle = call(&client, client.get(format!("{}/local/idle?timeout=60", host.url()))).await;
    assert_eq!(idle, json!({"idle": true}));
    let customer = token(&client, host.url(), json!({"sub": "u-1", "user_type": "CUSTOMER"})).await;
    let inbox = call(&client, client.get(format!("{}/v1/inbox", host.url())).bearer_auth(&customer)).await;
    let titles = inbox["notifications"].as_array().expect("a list").iter().map(|told| told["title"].clone());
    let mut titles: Vec<String> = titles.map(|title| title.as_str().expect("text").to_owned()).collect();
    titles.sort();
    assert_eq!(titles, (0..rounds).map(|round| format!("unit-{round} is yours")).collect::<Vec<_>>());
    assert_eq!(host.interrupt().0, Some(0));
}
