//! A proxy in front of DynamoDB, SQS or a provider: counts calls, and does to them what none of these does by itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use crate::clients;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The transaction is cancelled: somebody else is at one of its items.
    Conflict,
    /// The same transaction is still under way.
    InProgress,
    /// Throttled.
    Throttled,
    /// A provider has had too many requests.
    TooMany,
    /// A payment provider is at a request with the same key.
    InUse,
    /// DynamoDB has an internal error.
    Internal,
    /// The first message of a batch is not taken, the others are.
    PartlyAway,
    /// The first message of a batch is refused as the sender's fault, the others are taken.
    PartlyRefused,
    /// The call does not arrive.
    NotSent,
    /// The call takes effect, and its answer is lost.
    AnswerLost,
    /// The call is held before it arrives, until it is released: the moment to kill the caller before it.
    HeldBefore,
    /// The call takes effect and its answer is held, until it is released: the moment to kill the caller after it.
    HeldAfter,
    /// Held too, and nobody is told: what a caller tries again because its first call is held.
    HeldStill,
}

/// The proxy.
#[derive(Debug, Clone)]
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: String,
    client: reqwest::Client,
    state: Mutex<Counts>,
    /// A permit for each call that is held and that nobody has been told of.
    held: Semaphore,
}

impl Shared {
    async fn hold(&self, operation: &str, fault: Fault) {
        let release = self.gate(operation);
        let mut released = std::pin::pin!(release.notified());
        // Whoever is told that it is held may release it at once.
        released.as_mut().enable();
        self.held.add_permits(usize::from(fault != Fault::HeldStill));
        released.await;
    }

    fn gate(&self, operation: &str) -> Arc<Notify> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(state.gates.entry(operation.to_owned()).or_default())
    }
}

#[derive(Debug, Default)]
struct Counts {
    calls: HashMap<String, usize>,
    /// Every call since somebody asked, in order.
    recorded: Vec<(Instant, String)>,
    plans: Vec<Plan>,
    /// How many calls of an operation have been passed on and are not answered.
    passed_on: HashMap<String, usize>,
    /// What the held calls of an operation wait for.
    gates: HashMap<String, Arc<Notify>>,
}

/// What happens to the next calls of an operation that have all of these texts in their body.
#[derive(Debug)]
struct Plan {
    operation: String,
    texts: Vec<String>,
    faults: VecDeque<Fault>,
}

impl Proxy {
    /// Starts a proxy on any free port.
    pub async fn start(target: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            target: target.to_owned(),
            client: clients::http(),
            state: Mutex::default(),
            held: Semaphore::new(0),
        });
        let router = Router::new().fallback(pass).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, shared }
    }

    /// Where the proxy answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Breaks the next calls of an operation, one fault each.
    pub fn break_next(&self, operation: &str, faults: &[Fault]) {
        self.break_next_with(operation, "", faults);
    }

    /// The same, of those calls alone that have `text` in their body: a table, a queue, a status.
    pub fn break_next_with(&self, operation: &str, text: &str, faults: &[Fault]) {
        self.break_next_with_all(operation, &[text], faults);
    }

    /// The same, of those calls alone that have all of these texts in their body.
    pub fn break_next_with_all(&self, operation: &str, texts: &[&str], faults: &[Fault]) {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        let plan = Plan { operation: operation.to_owned(), texts, faults: faults.iter().copied().collect() };
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).plans.push(plan);
    }

    /// Breaks one call after `before` calls of the operation have passed.
    pub fn break_after(&self, operation: &str, before: usize, fault: Fault) {
        let mut faults = vec![Fault::None; before];
        faults.push(fault);
        self.break_next(operation, &faults);
    }

    /// Returns when a call is held; asked again, when another one is.
    pub async fn held(&self) {
        self.shared.held.acquire().await.expect("never closed").forget();
    }

    /// Lets the calls of an operation that are held go on.
    pub fn release(&self, operation: &str) {
        self.shared.gate(operation).notify_waiters();
    }

    /// Breaks nothing any more.
    pub fn mend(&self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).plans.clear();
    }

    /// How many faults have not been met yet.
    pub fn unmet(&self) -> usize {
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.plans.iter().map(|plan| plan.faults.len()).sum()
    }

    /// How many calls of an operation have been passed on and are not answered: they may take effect any moment.
    pub fn under_way(&self, operation: &str) -> usize {
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.passed_on.get(operation).copied().unwrap_or_default()
    }

    /// How often an operation was called so far.
    pub fn calls(&self, operation: &str) -> usize {
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.calls.get(operation).copied().unwrap_or_default()
    }

    /// Every call since the last time that somebody asked: when it came, and its operation.
    pub fn take_recorded(&self) -> Vec<(Instant, String)> {
        std::mem::take(&mut self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).recorded)
    }

    /// How often these operations were called since the last time that somebody asked.
    pub fn take_calls(&self, operations: &[&str]) -> usize {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        operations.iter().filter_map(|operation| state.calls.remove(*operation)).sum()
    }
}

/// An operation is named by the target that AWS's JSON protocols put into a header; elsewhere by its path, see [`named`].
async fn pass(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    let operation = target.and_then(|target| target.rsplit('.').next()).unwrap_or_else(|| named(uri.path())).to_owned();
    let fault = {
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state.calls.entry(operation.clone()).or_default() += 1;
        state.recorded.push((Instant::now(), operation.clone()));
        let text = std::str::from_utf8(&body).unwrap_or_default();
        let is_meant =
            |plan: &&mut Plan| plan.operation == operation && plan.texts.iter().all(|part| text.contains(part));
        let fault = state.plans.iter_mut().filter(is_meant).find_map(|plan| plan.faults.pop_front());
        if matches!(fault, None | Some(Fault::None)) {
            *state.passed_on.entry(operation.clone()).or_default() += 1;
        }
        fault
    };
    match fault {
        None | Some(Fault::None) => {
            let _passed_on = PassedOn { shared: &shared, operation: &operation };
            forward(&shared, (method, &uri), headers, body).await
        }
        Some(Fault::AnswerLost) => {
            forward(&shared, (method, &uri), headers, body).await;
            broken()
        }
        Some(Fault::NotSent) => broken(),
        Some(fault @ (Fault::HeldBefore | Fault::HeldStill)) => {
            shared.hold(&operation, fault).await;
            forward(&shared, (method, &uri), headers, body).await
        }
        Some(Fault::HeldAfter) => {
            let answer = forward(&shared, (method, &uri), headers, body).await;
            shared.hold(&operation, Fault::HeldAfter).await;
            answer
        }
        Some(fault @ (Fault::PartlyAway | Fault::PartlyRefused)) => {
            partly(&shared, (method, &uri), headers, &body, fault).await
        }
        Some(Fault::Conflict) if operation.starts_with("Transact") => cancelled(&body),
        Some(Fault::Conflict) => error(400, "TransactionConflictException", json!({})),
        Some(Fault::InProgress) => error(400, "TransactionInProgressException", json!({})),
        Some(Fault::Throttled) => error(400, "ThrottlingException", json!({})),
        Some(Fault::TooMany) => (StatusCode::TOO_MANY_REQUESTS, axum::Json(json!({}))).into_response(),
        Some(Fault::InUse) => {
            let problem = json!({"error": {"type": "idempotency_error", "message": "injected"}});
            (StatusCode::CONFLICT, axum::Json(problem)).into_response()
        }
        Some(Fault::Internal) => error(500, "InternalServerError", json!({})),
    }
}

/// A call that was passed on, until it is answered or its caller is gone.
struct PassedOn<'a> {
    shared: &'a Shared,
    operation: &'a str,
}

impl Drop for PassedOn<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = state.passed_on.get_mut(self.operation) {
            *count -= 1;
        }
    }
}

/// The path, but for ids in the middle of it: what is asked of a payment intent is named by the verb.
fn named(path: &str) -> &str {
    let verb = path.strip_prefix("/v1/payment_intents/").and_then(|rest| rest.split_once('/'));
    verb.map_or(path, |(_, verb)| verb)
}

async fn forward(shared: &Shared, (method, uri): (Method, &Uri), headers: HeaderMap, body: Bytes) -> Response {
    let path = uri.path_and_query().map_or(uri.path(), |path| path.as_str());
    let target = format!("{}{path}", shared.target.trim_end_matches('/'));
    let answered = shared.client.request(method, target).headers(headers).body(body).send().await;
    let Ok(answered) = answered else { return StatusCode::BAD_GATEWAY.into_response() };
    let (status, headers) = (answered.status(), answered.headers().clone());
    let bytes = answered.bytes().await.unwrap_or_default();
    (status, headers, bytes).into_response()
}

/// A batch of which the first message does not get through.
async fn partly(shared: &Shared, to: (Method, &Uri), mut headers: HeaderMap, body: &[u8], fault: Fault) -> Response {
    let mut request: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(first) = request["Entries"].as_array_mut().filter(|entries| !entries.is_empty()).map(|all| all.remove(0))
    else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let refused = fault == Fault::PartlyRefused;
    let code = if refused { "InvalidMessageContents" } else { "InternalError" };
    let failed = json!([{"Id": first["Id"], "Code": code, "SenderFault": refused, "Message": "injected"}]);
    headers.remove("content-length");
    let answered = if request["Entries"].as_array().is_some_and(Vec::is_empty) {
        json!({"Successful": []})
    } else {
        let response = forward(shared, to, headers, request.to_string().into()).await;
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    };
    let mut answered = answered;
    answered["Failed"] = failed;
    (StatusCode::OK, [("content-type", "application/x-amz-json-1.0")], answered.to_string()).into_response()
}

/// A connection that breaks before the first byte of the answer.
fn broken() -> Response {
    let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("broken")) });
    Body::from_stream(broken).into_response()
}

/// One item of the transaction is in conflict, the others are not.
fn cancelled(body: &[u8]) -> Response {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let items = request["TransactItems"].as_array().map_or(1, Vec::len);
    let mut reasons = vec![json!({"Code": "None"}); items];
    reasons[0] = json!({"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"});
    error(400, "TransactionCanceledException", json!({"CancellationReasons": reasons}))
}

fn error(status: u16, kind: &str, mut body: Value) -> Response {
    body["__type"] = json!(format!("com.amazonaws.dynamodb.v20120810#{kind}"));
    body["message"] = json!("injected");
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    (status, [("content-type", "application/x-amz-json-1.0")], body.to_string()).into_response()
}
