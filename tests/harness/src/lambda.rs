//! A stand-in for Lambda: the Runtime API that a function's binary polls, and the binary as its own process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::{Path as Segment, State};
use axum::http::StatusCode;
use axum::response::{AppendHeaders, IntoResponse};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::net::TcpListener;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// The functions of the template, and the binaries that they run.
pub const FUNCTIONS: [(&str, &str); 13] = [
    ("ApiFunction", "api"),
    ("DeadLettersFunction", "dead-letters"),
    ("DeliverEmailFunction", "deliver"),
    ("DeliverPushFunction", "deliver"),
    ("DeliverSlackFunction", "deliver"),
    ("DeliverSmsFunction", "deliver"),
    ("FanoutFunction", "fanout"),
    ("InventoryFunction", "inventory"),
    ("LiveFunction", "live"),
    ("OrderFunction", "order"),
    ("OutboxStreamFunction", "outbox-stream"),
    ("PaymentFunction", "payment"),
    ("SweepFunction", "sweep"),
];

/// The release binaries of every function: those that `sam build` or `cargo lambda build` left in the folder which
/// `FUNCTION_BINARIES` names, or else built when first asked for.
pub fn binaries() -> &'static BTreeMap<String, PathBuf> {
    static BUILT: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(folder) = std::env::var_os("FUNCTION_BINARIES") {
            return in_folder(Path::new(&folder)).unwrap_or_else(|error| panic!("FUNCTION_BINARIES: {error}"));
        }
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut build = Command::new(cargo);
        build.current_dir(&workspace).args(["build", "--release", "--message-format", "json"]);
        let names: BTreeSet<&str> = FUNCTIONS.into_iter().map(|(_, name)| name).collect();
        build.args(names.into_iter().flat_map(|name| ["--bin", name]));
        let built = build.stderr(Stdio::inherit()).output().expect("cargo runs");
        assert!(built.status.success(), "the functions do not build: {}", built.status);
        let messages = String::from_utf8_lossy(&built.stdout);
        let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.filter_map(|message| executable(&message)).collect()
    })
}

/// One folder for each, named as the binary, with a `bootstrap` in it.
fn in_folder(folder: &Path) -> std::io::Result<BTreeMap<String, PathBuf>> {
    let folders = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let named = |entry: std::fs::DirEntry| (entry.file_name().to_string_lossy().into_owned(), entry.path());
    Ok(folders.into_iter().map(named).map(|(name, path)| (name, path.join("bootstrap"))).collect())
}

fn executable(message: &Value) -> Option<(String, PathBuf)> {
    let path = message["executable"].as_str()?;
    Some((message["target"]["name"].as_str()?.to_owned(), PathBuf::from(path)))
}

/// What Lambda runs, and how.
#[derive(Debug, Clone)]
pub struct Program {
    /// The binary, or the interpreter.
    pub path: PathBuf,
    /// What it is started with.
    pub arguments: Vec<String>,
    /// Its environment, to which Lambda adds its own variables.
    pub environment: BTreeMap<String, String>,
    /// How long an invocation may take, as far as the program is told.
    pub timeout: Duration,
}

impl Program {
    /// A binary with this environment.
    pub fn new(binary: &Path, environment: &BTreeMap<String, String>) -> Self {
        let environment = environment.clone();
        Self { path: binary.to_owned(), arguments: Vec::new(), environment, timeout: PATIENCE }
    }
}

/// A function's process behind a Runtime API of its own.
#[derive(Debug)]
pub struct Lambda {
    process: Child,
    begun: Instant,
    polled: watch::Receiver<Option<Instant>>,
    invocations: mpsc::Sender<Invocation>,
    log: Arc<Mutex<Vec<String>>>,
    reading: [JoinHandle<()>; 2],
}

/// Keeps the lines that a process writes.
fn keep(output: impl AsyncRead + Unpin + Send + 'static, log: Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    let mut lines = BufReader::new(output).lines();
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            log.lock().expect("the log").push(line);
        }
    })
}

/// What came of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The function answered.
    Answered(Value),
    /// It reported an error: Lambda would try again, or hand the batch back.
    Failed(Value),
    /// Its process ended without a word.
    Died,
}

impl Outcome {
    /// The answer of a function that must have answered.
    pub fn answer(self) -> Value {
        match self {
            Self::Answered(answer) => answer,
            other => panic!("no answer, but {other:?}"),
        }
    }
}

#[derive(Debug)]
struct Invocation {
    event: Value,
    outcome: oneshot::Sender<Outcome>,
}

struct RuntimeApi {
    invocations: tokio::sync::Mutex<mpsc::Receiver<Invocation>>,
    under_way: Mutex<HashMap<String, oneshot::Sender<Outcome>>>,
    polled: watch::Sender<Option<Instant>>,
    timeout: Duration,
}

impl Lambda {
    /// Starts a binary with this environment and nothing else, as Lambda does.
    pub async fn start(binary: &Path, environment: &BTreeMap<String, String>) -> Self {
        Self::run(&Program::new(binary, environment)).await
    }

    /// Starts any program so.
    pub async fn run(Program { path, arguments, environment, timeout }: &Program) -> Self {
        let (invocations, events) = mpsc::channel(8);
        let (polled, first_poll) = watch::channel(None);
        let invocable = tokio::sync::Mutex::new(events);
        let api = RuntimeApi { invocations: invocable, under_way: Mutex::default(), polled, timeout: *timeout };
        let address = serve(Arc::new(api)).await;
        let mut command = tokio::process::Command::new(path);
        command
            .args(arguments)
            .env_clear()
            .envs([
                ("AWS_LAMBDA_RUNTIME_API", address.as_str()),
                ("AWS_LAMBDA_FUNCTION_NAME", "belfry"),
                ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
                ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
                ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/belfry"),
                ("AWS_LAMBDA_LOG_STREAM_NAME", "1"),
            ])
            .envs(environment)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let begun = Instant::now();
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let log = Arc::<Mutex<Vec<String>>>::default();
        let output = process.stdout.take().expect("its output");
        let errors = process.stderr.take().expect("its errors");
        let reading = [keep(output, Arc::clone(&log)), keep(errors, Arc::clone(&log))];
        Self { process, begun, polled: first_poll, invocations, log, reading }
    }

    /// How long it took from the start of the process until it asked for work. Panics if it ended instead.
    pub async fn until_first_poll(&mut self) -> Duration {
        let mut polls = self.polled.clone();
        let polled = tokio::select! {
            polled = polls.wait_for(Option::is_some) => polled.ok().and_then(|polled| *polled),
            ended = self.process.wait() => panic!("it ended with {ended:?}: {:?}", self.log()),
            () = tokio::time::sleep(PATIENCE) => None,
        };
        polled.expect("it asks for work").duration_since(self.begun)
    }

    /// Invokes the function and waits for its answer.
    pub async fn invoke(&mut self, event: Value) -> Outcome {
        self.invoke_within(PATIENCE, event).await
    }

    /// The same for a function that may take longer than any does by itself.
    pub async fn invoke_within(&mut self, patience: Duration, event: Value) -> Outcome {
        let outcome = self.begin(event).await;
        tokio::select! {
            biased;
            outcome = outcome => outcome.unwrap_or(Outcome::Died),
            _ = self.process.wait() => Outcome::Died,
            () = tokio::time::sleep(patience) => panic!("no answer: {:?}", self.log()),
        }
    }

    /// Hands an event over, and does not wait for the answer.
    pub async fn begin(&self, event: Value) -> oneshot::Receiver<Outcome> {
        let (outcome, answered) = oneshot::channel();
        self.invocations.send(Invocation { event, outcome }).await.expect("the Runtime API is there");
        answered
    }

    /// Asks the process to end, as Lambda does before it kills an environment, and waits until it has.
    pub async fn terminate(&mut self) -> ExitStatus {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().expect("kill runs");
        assert!(sent.success(), "it had ended before");
        self.ended().await
    }

    /// Kills the process on the spot.
    pub async fn kill(mut self) {
        self.process.kill().await.expect("it was running");
    }

    /// Waits for a process that ends by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        tokio::time::timeout(PATIENCE, self.process.wait()).await.expect("it ends").expect("its status")
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.id().expect("it is running")
    }

    /// All that a process which has ended wrote.
    pub async fn said(&mut self) -> String {
        for reading in &mut self.reading {
            reading.await.expect("it is read to its end");
        }
        self.log().join("\n")
    }

    /// What it has written so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("the log").clone()
    }
}

async fn serve(api: Arc<RuntimeApi>) -> String {
    let routes = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
        .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
        .with_state(api);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    // An answer goes out at once: otherwise each call would wait for an acknowledgement.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    tokio::spawn(axum::serve(listener, routes).into_future());
    address
}

async fn next(State(api): State<Arc<RuntimeApi>>) -> impl IntoResponse {
    api.polled.send_if_modified(|polled| {
        let is_first = polled.is_none();
        polled.get_or_insert_with(Instant::now);
        is_first
    });
    let Some(Invocation { event, outcome }) = api.invocations.lock().await.recv().await else {
        return Err(StatusCode::GONE);
    };
    let id = uuid::Uuid::new_v4().to_string();
    api.under_way.lock().expect("invocations").insert(id.clone(), outcome);
    let deadline = std::time::SystemTime::now() + api.timeout;
    let deadline = deadline.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_millis();
    let headers = AppendHeaders([
        ("lambda-runtime-aws-request-id", id),
        ("lambda-runtime-deadline-ms", deadline.to_string()),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:000000000000:function:belfry".to_owned()),
        ("lambda-runtime-trace-id", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0".to_owned()),
    ]);
    Ok((headers, Json(event)))
}

async fn response(api: State<Arc<RuntimeApi>>, id: Segment<String>, answer: Bytes) -> StatusCode {
    end(&api, &id, Outcome::Answered(json(&answer)))
}

async fn error(api: State<Arc<RuntimeApi>>, id: Segment<String>, problem: Bytes) -> StatusCode {
    end(&api, &id, Outcome::Failed(json(&problem)))
}

/// What a function says is JSON, whatever its headers call it.
fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

fn end(api: &RuntimeApi, id: &str, outcome: Outcome) -> StatusCode {
    match api.under_way.lock().expect("invocations").remove(id) {
        // Whoever invoked it may have gone.
        Some(waiting) => {
            let _ = waiting.send(outcome);
            StatusCode::ACCEPTED
        }
        None => StatusCode::NOT_FOUND,
    }
}
