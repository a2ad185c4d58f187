//! What a use case costs: a pass-through in front of DynamoDB and SQS that adds up, function by function, the units that
//! AWS would bill. DynamoDB's are those that the engine reports as consumed; what it refuses is reckoned here.

mod refused;

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::clients;

/// SQS bills every 64 KiB of a request as one.
const BYTES_OF_A_REQUEST: usize = 64 * 1024;

/// Reads of DynamoDB; every other operation writes.
const READS: [&str; 5] = ["BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems"];

/// What is billed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Units {
    /// Write request units of DynamoDB.
    pub writes: f64,
    /// Read request units of DynamoDB.
    pub reads: f64,
    /// Requests of SQS.
    pub requests: f64,
    /// Invocations of the function by its queue or stream, where every batch has one message or record.
    pub batches: f64,
}

impl AddAssign for Units {
    fn add_assign(&mut self, more: Self) {
        self.writes += more.writes;
        self.reads += more.reads;
        self.requests += more.requests;
        self.batches += more.batches;
    }
}

/// The meter.
#[derive(Debug, Clone)]
pub struct Meter {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: String,
    client: reqwest::Client,
    /// By whoever signed the calls: a function signs with its logical id.
    units: Mutex<BTreeMap<String, Units>>,
}

impl Meter {
    /// Starts a meter in front of an engine, on any free port.
    pub async fn start(target: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let client = clients::http();
        let shared = Arc::new(Shared { target: target.to_owned(), client, units: Mutex::default() });
        let router = Router::new().fallback(pass).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, shared }
    }

    /// Where it answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What each function has used since the last time that somebody asked.
    pub fn take(&self) -> BTreeMap<String, Units> {
        std::mem::take(&mut self.shared.units.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn pass(State(shared): State<Arc<Shared>>, uri: Uri, mut headers: HeaderMap, body: Bytes) -> Response {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default().to_owned();
    let (service, operation) = target.split_once('.').unwrap_or_default();
    let caller = caller(&headers);
    let mut request: Value = serde_json::from_slice(&body).unwrap_or_default();
    if service.starts_with("DynamoDB_") {
        request["ReturnConsumedCapacity"] = json!("TOTAL");
    }
    // The body is written anew, here and in the answer.
    headers.remove(header::CONTENT_LENGTH);
    let url = format!("{}{}", shared.target.trim_end_matches('/'), uri.path());
    let sent = request.to_string();
    let answered = shared.client.post(url).headers(headers).body(sent.clone()).send().await;
    let Ok(answered) = answered else { return StatusCode::BAD_GATEWAY.into_response() };
    let (status, mut headers) = (answered.status(), answered.headers().clone());
    let bytes = answered.bytes().await.unwrap_or_default();
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let units = match service {
        service if service.starts_with("DynamoDB_") => of_dynamodb(operation, &request, &answer),
        "AmazonSQS" => of_sqs(operation, sent.len(), &answer),
        _ => of_stream(&answer),
    };
    *shared.units.lock().unwrap_or_else(PoisonError::into_inner).entry(caller).or_default() += units;
    headers.remove(header::TRANSFER_ENCODING);
    (status, headers, bytes).into_response()
}

/// Who signed a call.
fn caller(headers: &HeaderMap) -> String {
    let signed = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let credential = signed.split("Credential=").nth(1).unwrap_or_default();
    credential.split('/').next().unwrap_or_default().to_owned()
}

fn of_dynamodb(operation: &str, request: &Value, answer: &Value) -> Units {
    let consumed: f64 = match &answer["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum(),
        table => table["CapacityUnits"].as_f64().unwrap_or_default(),
    };
    if READS.contains(&operation) {
        Units { reads: consumed, ..Units::default() }
    } else {
        Units { writes: consumed + refused::writes(request, answer), ..Units::default() }
    }
}

/// Lambda's pollers read streams for nothing; each record that the mapping's filter lets through is an invocation.
fn of_stream(answer: &Value) -> Units {
    let records = answer["Records"].as_array().into_iter().flatten();
    let passing = records.filter(|record| {
        let image = &record["dynamodb"]["NewImage"];
        match record["eventName"].as_str() {
            Some("INSERT") => image["send"].is_null() || image["status"]["S"] == "PENDING",
            Some("MODIFY") => !image["wake"].is_null(),
            _ => false,
        }
    });
    Units { batches: passing.count() as f64, ..Units::default() }
}

/// A poll that finds nothing is no use case's: what idling costs is reckoned by itself.
fn of_sqs(operation: &str, bytes: usize, answer: &Value) -> Units {
    let is_poll = operation == "ReceiveMessage";
    let found = answer["Messages"].as_array().is_some_and(|messages| !messages.is_empty());
    if is_poll && !found {
        return Units::default();
    }
    let requests = bytes.div_ceil(BYTES_OF_A_REQUEST).max(1) as f64;
    Units { requests, batches: f64::from(u8::from(is_poll)), ..Units::default() }
}
