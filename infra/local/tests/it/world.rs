//! Engines and providers that outlive the hosts in front of them, and a proxy before each, to catch a host at one of its
//! calls.

use std::time::Duration;

use engine::{Engine, Ports};
use harness::{Fault, Proxy, clients};
use providers::Providers;
use serde_json::{Value, json};

use crate::belfry::{Belfry, call, token};

/// Long enough for any machine; only a test that has failed waits for so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An await point of a function: the operation that it calls, a text in the call's body that tells it from others of
/// the kind, and how many of those pass before.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub operation: &'static str,
    pub text: &'static str,
    pub before: usize,
}

impl Point {
    pub const fn new(operation: &'static str, text: &'static str, before: usize) -> Self {
        Self { operation, text, before }
    }
}

/// Switches the stream mapping off.
pub const STREAM_OFF: (&str, &str) =
    ("            Stream: !GetAtt", "            Enabled: false\n            Stream: !GetAtt");

/// A copy of the deployed template with these replacements, and its path.
pub fn template(name: &str, replacements: &[(&str, &str)]) -> String {
    let mut template = include_str!("../../../template.yaml").to_owned();
    for (from, to) in replacements {
        assert!(template.contains(from), "the template has {from}");
        template = template.replace(from, to);
    }
    let path = format!("{}/{name}.yaml", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, template).expect("a template");
    path
}

/// What stays while hosts come and go.
pub struct World {
    /// What the test is about, for its messages.
    pub cell: String,
    pub client: reqwest::Client,
    pub dynamodb: Proxy,
    pub sqs: Proxy,
    pub providers_proxy: Proxy,
    pub providers: Providers,
    engine: Engine,
    template: String,
    environment: Vec<(String, String)>,
}

impl World {
    /// A world whose hosts run this template with these settings.
    pub async fn new(cell: String, template: &str, settings: &[(&str, &str)]) -> Self {
        let engine = Engine::start(Ports::default()).await.expect("engines");
        let dynamodb = Proxy::start(engine.dynamodb_url()).await;
        let sqs = Proxy::start(engine.sqs_url()).await;
        let providers = Providers::new();
        let providers_proxy = Proxy::start(&serve(&providers).await).await;
        let endpoints = [("AWS_ENDPOINT_URL_DYNAMODB", dynamodb.url()), ("AWS_ENDPOINT_URL_SQS", sqs.url())];
        let settings = endpoints.iter().chain(settings);
        let settings = settings.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = local::providers_at(providers_proxy.url()).into_iter().chain(settings).collect();
        let template = template.to_owned();
        let client = clients::http_builder().pool_max_idle_per_host(0).timeout(PATIENCE * 2);
        let client = client.build().expect("a client");
        Self { cell, client, dynamodb, sqs, providers_proxy, providers, engine, template, environment }
    }

    /// Starts a host. On a thread of its own, because it waits while the proxies have to serve the new process.
    pub async fn host(&self) -> Belfry {
        self.host_of(&self.template).await
    }

    /// The same with another template.
    pub async fn host_of(&self, template: &str) -> Belfry {
        let (template, environment) = (template.to_owned(), self.environment.clone());
        let start = move || Belfry::start(&["--port", "0", "--template", &template], &environment);
        tokio::task::spawn_blocking(start).await.expect("a host")
    }

    /// Plans to hold the host at this point.
    pub fn hold(&self, point: Point, fault: Fault) {
        let mut faults = vec![Fault::None; point.before];
        faults.push(fault);
        self.break_next(point.operation, &[point.text], &faults);
    }

    /// Plans what happens to the next calls of an operation that have all of these texts in their body.
    pub fn break_next(&self, operation: &str, texts: &[&str], faults: &[Fault]) {
        // No operation is of two of them.
        for proxy in [&self.dynamodb, &self.sqs, &self.providers_proxy] {
            proxy.break_next_with_all(operation, texts, faults);
        }
    }

    /// Returns when the host is held.
    pub async fn held(&self) {
        let held = async {
            tokio::select! {
                () = self.dynamodb.held() => {}
                () = self.sqs.held() => {}
                () = self.providers_proxy.held() => {}
            }
        };
        tokio::time::timeout(PATIENCE, held).await.unwrap_or_else(|_| panic!("{}: never came there", self.cell));
    }

    /// Breaks nothing any more.
    pub fn mend(&self) {
        self.dynamodb.mend();
        self.sqs.mend();
        self.providers_proxy.mend();
    }

    /// Posts as somebody with these claims; nothing where the host is gone before it has answered.
    pub async fn post(
        &self,
        host: &Belfry,
        claims: Value,
        path: &str,
        key: &str,
        body: &Value,
    ) -> Option<(u16, String)> {
        let token = token(&self.client, host.url(), claims).await;
        let request = self.client.post(format!("{}{path}", host.url())).bearer_auth(token);
        let response = request.header("idempotency-key", key).json(body).send().await.ok()?;
        Some((response.status().as_u16(), response.text().await.ok()?))
    }

    /// Returns when every stream and queue is drained.
    pub async fn idle(&self, host: &Belfry) {
        let idle = self.client.get(format!("{}/local/idle?timeout={}", host.url(), PATIENCE.as_secs()));
        assert_eq!(call(&self.client, idle).await, json!({"idle": true}), "{}", self.cell);
    }

    /// All items of a table, in DynamoDB's own JSON, straight from the engine.
    pub async fn scan(&self, table: &str) -> Vec<Value> {
        let body = json!({"TableName": format!("belfry-local-{table}"), "ConsistentRead": true});
        let request = self.client.post(self.engine.dynamodb_url()).body(body.to_string());
        let request = request
            .header("x-amz-target", "DynamoDB_20120810.Scan")
            .header("content-type", "application/x-amz-json-1.0")
            .header(
                "authorization",
                "AWS4-HMAC-SHA256 Credential=a/b/c/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
            )
            .header("x-amz-date", "20260101T000000Z");
        let answer = call(&self.client, request).await;
        assert!(answer["LastEvaluatedKey"].is_null(), "{}: {table} is more than one page", self.cell);
        answer["Items"].as_array().expect("items").clone()
    }

    /// The same, of each item these texts and numbers alone, sorted; what it does not have is empty.
    pub async fn rows<const N: usize>(&self, table: &str, attributes: [&str; N]) -> Vec<[String; N]> {
        let value = |typed: &Value| typed.as_object()?.values().next()?.as_str().map(str::to_owned);
        let row = |item: &Value| attributes.map(|name| value(&item[name]).unwrap_or_default());
        let mut rows: Vec<_> = self.scan(table).await.iter().map(row).collect();
        rows.sort();
        rows
    }
}

/// Serves the providers for as long as the test runs, and says where.
async fn serve(providers: &Providers) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(providers.clone().serve(listener, std::future::pending()));
    url
}
