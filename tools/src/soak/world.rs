//! What a soak runs on: engines and providers in this process, a proxy before each, and a host in a process of its own
//! that is killed again and again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use harness::{Backends, clients};
use ledger::Ledger;
use ledger::survey::Survey;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::RwLock;

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// A killed worker's messages, claims and orders come back after seconds, and retries come soon.
const HASTY: [(&str, &str); 8] = [
    ("BELFRY_BACKOFF_BASE", "20ms"),
    ("BELFRY_BACKOFF_MAX", "2s"),
    ("BELFRY_OUTBOX_GRACE", "2s"),
    ("BELFRY_OUTBOX_LEASE", "5s"),
    ("BELFRY_PROVIDER_TIME_LIMIT", "2s"),
    ("BELFRY_SEND_LEASE", "8s"),
    ("BELFRY_ORDER_DEADLINE", "20s"),
    ("BELFRY_LOG", "info"),
];

/// The deployed template, but for how long a killed function's messages stay out of sight.
fn template() -> String {
    let deployed = include_str!("../../../infra/template.yaml");
    let mut template = deployed.to_owned();
    // A mapping's values are quoted, a property's are not.
    for (setting, long) in [
        ("VisibilityTimeout", &["\"180\"", "\"360\"", "\"540\"", "180\n", "720\n"][..]),
        ("      Timeout", &["30\n", "50\n", "60\n", "90\n", "120\n"]),
    ] {
        for long in long {
            let line = format!("{setting}: {long}");
            assert!(template.contains(&line), "the template has {line}");
            let number: String = long.chars().filter(char::is_ascii_digit).collect();
            template = template.replace(&line, &format!("{setting}: {}", long.replace(&number, "10")));
        }
    }
    template
}

/// A host that runs; it ends with this value.
#[derive(Debug)]
pub struct Host {
    url: String,
    child: Child,
    tokens: Mutex<HashMap<String, String>>,
}

/// What stays while hosts come and go.
#[derive(Debug)]
pub struct World {
    /// Engines, providers and their proxies.
    pub backends: Backends,
    client: reqwest::Client,
    host: RwLock<Option<Host>>,
    command: Vec<OsString>,
    template: PathBuf,
    logs: Option<PathBuf>,
    environment: Vec<(String, String)>,
    generation: Mutex<usize>,
}

/// An answer: status and body.
pub type Answered = (u16, String);

impl World {
    /// Starts everything but the host, which `command` starts with the path of its template.
    pub async fn start(command: Vec<OsString>, seed: u64, logs: Option<PathBuf>) -> Self {
        let backends = Backends::start().await;
        let settings = HASTY.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = backends.environment().into_iter().chain(settings).collect();
        let path = std::env::temp_dir().join(format!("belfry-soak-{}-{seed}.yaml", std::process::id()));
        std::fs::write(&path, template()).expect("a template");
        let client = clients::http_builder().pool_max_idle_per_host(0).timeout(Duration::from_secs(30));
        Self {
            backends,
            client: client.build().expect("a client"),
            host: RwLock::new(None),
            command,
            template: path,
            logs,
            environment,
            generation: Mutex::new(0),
        }
    }

    /// Kills the host where there is one, wherever it is, and starts the next. Everybody else waits.
    pub async fn next_host(&self) {
        let mut host = self.host.write().await;
        if let Some(mut before) = host.take() {
            before.child.kill().await.expect("it was there");
        }
        // What keeps a host from starting is not what is soaked.
        self.mend_engines();
        *host = Some(self.spawn().await);
    }

    async fn spawn(&self) -> Host {
        let generation = {
            let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
            *generation += 1;
            *generation
        };
        let log = match &self.logs {
            None => Stdio::null(),
            Some(folder) => {
                std::fs::create_dir_all(folder).expect("a folder for logs");
                let file = std::fs::File::create(folder.join(format!("host-{generation:03}.log")));
                file.expect("a log").into()
            }
        };
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg(&self.template).envs(self.environment.iter().cloned());
        for name in ["AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"] {
            command.env_remove(name);
        }
        // A host ends when its input does: none outlives this process.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn().expect("a host starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let ready = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("a host starts in time");
        let ready = ready.expect("its output").unwrap_or_default();
        let url = ready.strip_prefix("belfry ready on ").unwrap_or_else(|| panic!("no ready line: {ready}"));
        Host { url: url.to_owned(), child, tokens: Mutex::default() }
    }

    /// Breaks nothing any more on the way to the engines.
    pub fn mend_engines(&self) {
        self.backends.dynamodb.mend();
        self.backends.sqs.mend();
    }

    /// Asks the host that is there, as somebody with these claims or as nobody; nothing where no answer came.
    pub async fn ask(
        &self,
        claims: Option<&Value>,
        method: reqwest::Method,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Option<Answered> {
        // A kill waits for nobody: what is held here is the address, not the host.
        let (url, token) = {
            let host = self.host.read().await;
            let host = host.as_ref()?;
            let token = match claims {
                None => None,
                Some(claims) => Some(self.token(host, claims).await?),
            };
            (host.url.clone(), token)
        };
        let mut request = self.client.request(method, format!("{url}{path}"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.ok()?;
        Some((response.status().as_u16(), response.text().await.ok()?))
    }

    async fn token(&self, host: &Host, claims: &Value) -> Option<String> {
        let name = claims.to_string();
        let known = host.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        if known.is_some() {
            return known;
        }
        let request = self.client.post(format!("{}/local/tokens", host.url)).json(claims);
        let answer: Value = request.send().await.ok()?.json().await.ok()?;
        let token = answer["token"].as_str()?.to_owned();
        host.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(name, token.clone());
        Some(token)
    }

    /// Has the sweeper do one of its tasks.
    pub async fn sweep(&self, task: &str) -> Option<Answered> {
        let body = json!({"function": "SweepFunction", "event": {"task": task}});
        self.ask(None, reqwest::Method::POST, "/local/invoke", None, Some(&body)).await
    }

    /// A client for the engine, past the proxy.
    pub fn engine_client(&self) -> aws_sdk_dynamodb::Client {
        clients::dynamodb("soak", self.backends.dynamodb_url())
    }

    /// A client for the queues, past the proxy.
    pub fn queue_client(&self) -> aws_sdk_sqs::Client {
        clients::sqs("soak", self.backends.sqs_url())
    }

    /// The tables, past the proxy.
    pub fn survey(&self) -> Survey {
        Survey::of_stack(Ledger::new(self.engine_client()), "belfry-local")
    }

    /// Ends the host and the engines.
    pub async fn stop(self) {
        drop(self.host.write().await.take());
        let _ = std::fs::remove_file(&self.template);
        self.backends.stop().await;
    }
}
