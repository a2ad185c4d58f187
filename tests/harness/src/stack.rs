//! One stack: engines, host, ports and names of its own. Everything else goes over HTTP.

use std::collections::HashMap;
use std::sync::OnceLock;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::QueueAttributeName;
use local::{Endpoints, Host, IamGate, Options};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::clients;
use crate::engines::Engines;
use crate::proxy::Proxy;

/// A running stack.
#[derive(Debug)]
pub struct Stack {
    host: Host,
    _denials: Denials,
    client: reqwest::Client,
    /// A client costs more than what it is asked for.
    sqs: OnceLock<aws_sdk_sqs::Client>,
    outside: Option<Outside>,
    /// The second engine, where the tests run on it.
    _second: Option<Engines>,
}

/// Says in a test that fails what its functions were denied: a right too few looks like anything else from outside.
#[derive(Debug)]
struct Denials(IamGate);

impl Drop for Denials {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for denial in self.0.denials() {
                eprintln!("denied: {denial}");
            }
        }
    }
}

/// What a stack is put behind: engines of the test's own, and a proxy in front of each.
#[derive(Debug)]
struct Outside {
    engine: Engines,
    dynamodb: Proxy,
    sqs: Proxy,
}

/// Somebody with a token.
#[derive(Debug, Clone)]
pub struct Caller {
    url: String,
    client: reqwest::Client,
    token: String,
}

/// What an HTTP call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// Whether the answer said that it was a replay.
    pub replayed: bool,
    /// The body, byte for byte.
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// The error's code, if it is one.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Stack {
    /// Starts a stack on engines of its own.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// Starts a stack with these options, on any free port.
    pub async fn with(options: Options) -> Self {
        let second = if options.endpoints.is_none() { Engines::second().await } else { None };
        let at = |engines: &Engines| Endpoints {
            dynamodb: engines.dynamodb_url().to_owned(),
            sqs: engines.sqs_url().to_owned(),
        };
        let endpoints = options.endpoints.or_else(|| second.as_ref().map(at));
        let options = Options { endpoints, ..options };
        let host = Host::start(Options { port: 0, ..options }).await.expect("the host starts");
        let denials = Denials(host.iam().clone());
        let client = clients::http();
        Self { host, _denials: denials, client, sqs: OnceLock::new(), outside: None, _second: second }
    }

    /// Starts a stack with proxies between the functions and the engines.
    pub async fn behind_a_proxy() -> Self {
        Self::behind_a_proxy_with(Options::default()).await
    }

    /// The same with these options.
    pub async fn behind_a_proxy_with(options: Options) -> Self {
        let engine = Engines::start().await;
        let dynamodb = Proxy::start(engine.dynamodb_url()).await;
        let sqs = Proxy::start(engine.sqs_url()).await;
        let endpoints = Endpoints { dynamodb: dynamodb.url().to_owned(), sqs: sqs.url().to_owned() };
        let mut stack = Self::with(Options { endpoints: Some(endpoints), ..options }).await;
        stack.outside = Some(Outside { engine, dynamodb, sqs });
        stack
    }

    /// The proxy in front of DynamoDB.
    pub fn proxy(&self) -> &Proxy {
        &self.outside.as_ref().expect("a stack behind a proxy").dynamodb
    }

    /// The proxy in front of SQS.
    pub fn sqs_proxy(&self) -> &Proxy {
        &self.outside.as_ref().expect("a stack behind a proxy").sqs
    }

    /// Where the API answers.
    pub fn url(&self) -> &str {
        self.host.url()
    }

    /// Where DynamoDB answers, as the functions see it.
    pub fn dynamodb_url(&self) -> &str {
        &self.host.endpoints().dynamodb
    }

    /// A DynamoDB client for looking behind the scenes.
    pub async fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        clients::dynamodb("test", &self.host.endpoints().dynamodb)
    }

    /// How many items a table holds.
    pub async fn count(&self, table: &str) -> usize {
        self.items(table).await.len()
    }

    /// Everything that a table holds.
    pub async fn items(&self, table: &str) -> Vec<HashMap<String, AttributeValue>> {
        let table = format!("belfry-local-{table}");
        let pages =
            self.dynamodb().await.scan().table_name(table).consistent_read(true).into_paginator().items().send();
        pages.collect::<Result<Vec<_>, _>>().await.expect("the table can be read")
    }

    /// One attribute of every item of a table, sorted.
    pub async fn column(&self, table: &str, attribute: &str) -> Vec<String> {
        let text = |item: HashMap<String, AttributeValue>| item.get(attribute)?.as_s().ok().cloned();
        let mut column: Vec<String> = self.items(table).await.into_iter().filter_map(text).collect();
        column.sort();
        column
    }

    /// An SQS client for looking behind the scenes.
    pub async fn sqs(&self) -> aws_sdk_sqs::Client {
        self.sqs.get_or_init(|| clients::sqs("test", &self.host.endpoints().sqs)).clone()
    }

    /// The client that everything over HTTP goes through.
    pub(crate) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// The URL of a queue.
    pub async fn queue_url(&self, queue: &str) -> String {
        let asked = self.sqs().await.get_queue_url().queue_name(format!("belfry-local-{queue}")).send().await;
        asked.expect("the queue is there").queue_url.expect("a URL")
    }

    /// How many messages lie in a queue that nobody reads.
    pub async fn queued(&self, queue: &str) -> u64 {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let url = self.queue_url(queue).await;
        let asked = self.sqs().await.get_queue_attributes().queue_url(url).attribute_names(name.clone()).send().await;
        let attributes = asked.expect("the queue is there").attributes.unwrap_or_default();
        attributes.get(&name).and_then(|count| count.parse().ok()).expect("a count")
    }

    /// Runs the sweeper now; says how many entries it published.
    pub async fn sweep(&self) -> u64 {
        self.sweep_for("outbox").await
    }

    /// Runs the sweeper for a task; says how many messages it sent.
    pub async fn sweep_for(&self, task: &str) -> u64 {
        let event = json!({"function": "SweepFunction", "event": {"task": task}});
        let answer = self.call(Method::POST, "/local/invoke", Some(event)).await.json();
        answer["response"]["published"].as_u64().unwrap_or_else(|| panic!("the sweeper failed: {answer}"))
    }

    /// What the providers of a channel got, in order: whom, and what they did with it.
    pub async fn sent(&self, channel: &str) -> Vec<(String, String)> {
        let sent = self.call(Method::GET, &format!("/local/sent?channel={channel}"), None).await.json();
        let text = |sent: &Value, name: &str| sent[name].as_str().unwrap_or_default().to_owned();
        let sent = sent["sent"].as_array().cloned().unwrap_or_default();
        sent.iter().map(|sent| (text(sent, "to"), text(sent, "outcome"))).collect()
    }

    /// Makes a provider misbehave, so many times or until further notice.
    pub async fn fault(&self, channel: &str, mode: &str, times: Option<u32>) {
        let mut fault = json!({"target": channel, "mode": mode});
        if let Some(times) = times {
            fault["times"] = json!(times);
        }
        let answer = self.call(Method::POST, "/local/faults", Some(fault)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    }

    /// Puts a message onto a queue.
    pub async fn inject(&self, queue: &str, body: &str) {
        let answer = self.call(Method::POST, "/local/inject", Some(json!({"queue": queue, "body": body}))).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    }

    /// The sum of a metric since the start.
    pub async fn metric(&self, name: &str) -> u64 {
        let metrics = self.call(Method::GET, "/local/metrics", None).await.json();
        let lines = metrics["metrics"].as_array().cloned().unwrap_or_default();
        lines.iter().filter_map(|line| line[name].as_u64()).sum()
    }

    /// A call without a token.
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let mut request = self.client.request(method, format!("{}{path}", self.url()));
        if let Some(body) = body {
            request = request.json(&body);
        }
        answer(request).await
    }

    /// Somebody with these claims.
    pub async fn caller(&self, sub: &str, user_type: &str, scopes: &[&str]) -> Caller {
        let token = self.token(json!({"sub": sub, "user_type": user_type, "scopes": scopes})).await;
        Caller { url: self.url().to_owned(), client: self.client.clone(), token }
    }

    /// A token with these claims.
    pub async fn token(&self, claims: Value) -> String {
        let answer = self.call(Method::POST, "/local/tokens", Some(claims)).await;
        answer.json()["token"].as_str().expect("a token").to_owned()
    }

    /// Takes the engine away under a stack that is behind a proxy.
    pub async fn without_engine(mut self) -> Self {
        if let Some(outside) = self.outside.take() {
            outside.engine.stop().await;
        }
        self
    }

    /// A shop that may grant.
    pub async fn shop(&self) -> Caller {
        self.caller("shop", "ADMIN_USER", &["commands:write"]).await
    }

    /// An operator.
    pub async fn operator(&self) -> Caller {
        self.caller("omar", "ADMIN_USER", &["operate"]).await
    }

    /// A source system that may hand events in.
    pub async fn source(&self) -> Caller {
        self.caller("crm", "ADMIN_USER", &["events:write"]).await
    }

    /// Stores recipients of one kind: a user id and what is known of them each.
    pub async fn recipients(&self, user_type: &str, recipients: impl IntoIterator<Item = (String, Value)>) {
        let clerk = self.caller("clerk", "ADMIN_USER", &["recipients:write"]).await;
        for (user_id, details) in recipients {
            let request = clerk.request(Method::PUT, &format!("/v1/recipients/{user_type}/{user_id}"));
            let stored = clerk.send(request.json(&details)).await;
            assert_eq!(stored.status, StatusCode::OK, "{}", stored.text);
        }
    }

    /// A customer.
    pub async fn customer(&self, user_id: &str) -> Caller {
        self.caller(user_id, "CUSTOMER", &[]).await
    }

    /// Stores a recipient.
    pub async fn recipient(&self, user_type: &str, user_id: &str, details: Value) {
        let writer = self.caller("crm", "ADMIN_USER", &["recipients:write"]).await;
        let put = writer.request(Method::PUT, &format!("/v1/recipients/{user_type}/{user_id}")).json(&details);
        let answer = writer.send(put).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    }

    /// Returns when every stream and queue is drained.
    pub async fn idle(&self) {
        let answer = self.call(Method::GET, "/local/idle?timeout=300", None).await;
        assert_eq!(answer.status, StatusCode::OK, "the stack did not come to rest: {}", answer.text);
    }

    /// Delivers everything of an event again.
    pub async fn redeliver(&self, event_id: &str, times: u32) -> u64 {
        let body = json!({"event_id": event_id, "times": times});
        let answer = self.call(Method::POST, "/local/redeliver", Some(body)).await;
        assert_eq!(answer.json()["failed"], 0, "a repeated delivery is acknowledged: {}", answer.text);
        answer.json()["deliveries"].as_u64().expect("a count of deliveries")
    }

    /// Stops the stack.
    pub async fn stop(self) {
        self.host.stop().await;
    }
}

impl Caller {
    /// Posts a grant.
    pub async fn grant(&self, key: &str, user_id: &str, unit: &str) -> Answer {
        let body = json!({"user_id": user_id, "stock_keeping_unit": unit, "reason": "PURCHASE", "purchase_id": "p-1"});
        self.command("/v1/entitlements/grants", key, &body).await
    }

    /// Posts a command.
    pub async fn command(&self, path: &str, key: &str, body: &Value) -> Answer {
        answer(self.request(Method::POST, path).header("idempotency-key", key).json(body)).await
    }

    /// The same caller with another token, or with none.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        token.clone_into(&mut self.token);
        self
    }

    /// Hands an event in, or a list of them.
    pub async fn hand_in(&self, events: &Value) -> Answer {
        answer(self.request(Method::POST, "/v1/events").json(events)).await
    }

    /// Puts a resource.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        answer(self.request(Method::PUT, path).json(body)).await
    }

    /// Posts a command that has no body.
    pub async fn order(&self, path: &str, key: &str) -> Answer {
        answer(self.request(Method::POST, path).header("idempotency-key", key)).await
    }

    /// Everything of a list, page by page.
    pub async fn all(&self, path: &str, list: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("{path}{cursor}")).await;
            assert_eq!(page.status, StatusCode::OK, "{}", page.text);
            let page = page.json();
            rows.extend(page[list].as_array().cloned().unwrap_or_default());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("{}cursor={next}", if path.contains('?') { '&' } else { '?' }),
                None => return rows,
            }
        }
    }

    /// Gets a resource.
    pub async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    /// The titles in the caller's inbox, newest first.
    pub async fn inbox_titles(&self) -> Vec<String> {
        let inbox = self.get("/v1/inbox").await.json();
        let notifications = inbox["notifications"].as_array().cloned().unwrap_or_default();
        notifications.iter().map(|notification| notification["title"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// A request with the caller's token, to be completed.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url));
        if self.token.is_empty() { request } else { request.bearer_auth(&self.token) }
    }

    /// Sends a completed request.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        answer(request).await
    }
}

/// An announcement to one customer.
pub fn announcement(event_id: &str, user_id: &str, title: &str) -> Value {
    let payload = json!({"title": title, "body": "All of it.", "audience": "CUSTOMER", "user_id": user_id});
    json!({
        "event_id": event_id, "event_type": "Announcement", "aggregate_type": "Campaign", "aggregate_id": "c-1",
        "payload": payload,
    })
}

/// The template that is deployed, with the event of this name switched off where it begins so.
pub fn template_without(begins: &str) -> String {
    switched_off(include_str!("../../../infra/template.yaml"), begins)
}

/// A template with this event switched off as well.
pub fn switched_off(template: &str, begins: &str) -> String {
    let off = match begins.strip_prefix("{ ") {
        Some(properties) => template.replace(begins, &format!("{{ Enabled: false, {properties}")),
        None => template.replace(begins, &format!("            Enabled: false\n{begins}")),
    };
    assert_ne!(off, template, "the template has {begins}");
    off
}

/// The line that the stream mapping begins with.
pub const STREAM_MAPPING: &str = "            Stream: !GetAtt EventsTable.StreamArn";
/// The line that the mapping of the sends' stream begins with.
pub const SENDS_MAPPING: &str = "            Stream: !GetAtt SendsTable.StreamArn";
/// The line that the mapping of the customers' fan-out begins with.
pub const CUSTOMER_MAPPING: &str = "{ Queue: !GetAtt FanoutCustomerQueue.Arn";

async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.expect("the stack answers");
    let status = response.status();
    let replayed = response.headers().get("idempotency-replayed").is_some_and(|value| value == "true");
    Answer { status, replayed, text: response.text().await.expect("a body") }
}
