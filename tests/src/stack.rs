//! One stack: engines, host, ports and names of its own. Everything else goes over HTTP.

use engine::{Engine, Ports};
use local::{Endpoints, Host, Options};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::proxy::Proxy;

/// A running stack.
#[derive(Debug)]
pub struct Stack {
    host: Host,
    client: reqwest::Client,
    outside: Option<Outside>,
}

/// What a stack is put behind: engines of the test's own, and a proxy in front of each.
#[derive(Debug)]
struct Outside {
    engine: Engine,
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
        let host = Host::start(Options { port: 0, ..options }).await.expect("the host starts");
        Self { host, client: reqwest::Client::new(), outside: None }
    }

    /// Starts a stack with proxies between the functions and the engines.
    pub async fn behind_a_proxy() -> Self {
        Self::behind_a_proxy_with(Options::default()).await
    }

    /// The same with these options.
    pub async fn behind_a_proxy_with(options: Options) -> Self {
        let engine = Engine::start(Ports::default()).await.expect("the engines start");
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

    /// A DynamoDB client for looking behind the scenes.
    pub async fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
            .region(aws_config::Region::from_static("us-east-1"))
            .credentials_provider(aws_sdk_dynamodb::config::Credentials::new("test", "test", None, None, "test"))
            .endpoint_url(&self.host.endpoints().dynamodb)
            .load()
            .await;
        aws_sdk_dynamodb::Client::new(&config)
    }

    /// How many items a table holds.
    pub async fn count(&self, table: &str) -> usize {
        let table = format!("belfry-{table}");
        let pages =
            self.dynamodb().await.scan().table_name(table).consistent_read(true).into_paginator().items().send();
        pages.collect::<Result<Vec<_>, _>>().await.expect("the table can be read").len()
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

    /// A customer.
    pub async fn customer(&self, user_id: &str) -> Caller {
        self.caller(user_id, "CUSTOMER", &[]).await
    }

    /// Returns when every stream and queue is drained.
    pub async fn idle(&self) {
        let answer = self.call(Method::GET, "/local/idle?timeout=60", None).await;
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

async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.expect("the stack answers");
    let status = response.status();
    let replayed = response.headers().get("idempotency-replayed").is_some_and(|value| value == "true");
    Answer { status, replayed, text: response.text().await.expect("a body") }
}
