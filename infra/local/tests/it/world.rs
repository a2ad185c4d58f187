//! Hosts that come and go before backends that stay, and are caught at one of their calls.

use std::time::Duration;

use harness::{Backends, Fault, clients};
use serde_json::{Value, json};

use crate::belfry::{Belfry, call, token};

/// Only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A call of a function: the operation, a text in the body, and how many such calls pass before.
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

/// Disables the stream mapping.
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

/// What outlives the hosts.
pub struct World {
    /// The case, for messages.
    pub cell: String,
    pub client: reqwest::Client,
    pub backends: Backends,
    template: String,
    environment: Vec<(String, String)>,
}

impl World {
    pub async fn new(cell: String, template: &str, settings: &[(&str, &str)]) -> Self {
        let backends = Backends::start().await;
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = backends.environment().into_iter().chain(settings).collect();
        let client = clients::http_builder().pool_max_idle_per_host(0).timeout(PATIENCE * 2);
        let client = client.build().expect("a client");
        Self { cell, client, backends, template: template.to_owned(), environment }
    }

    /// Starts a host, on its own thread because starting blocks while the proxies must serve it.
    pub async fn host(&self) -> Belfry {
        self.host_of(&self.template).await
    }

    pub async fn host_of(&self, template: &str) -> Belfry {
        let (template, environment) = (template.to_owned(), self.environment.clone());
        let start = move || Belfry::start(&["--port", "0", "--template", &template], &environment);
        tokio::task::spawn_blocking(start).await.expect("a host")
    }

    /// Holds the host at this point.
    pub fn hold(&self, point: Point, fault: Fault) {
        let mut faults = vec![Fault::None; point.before];
        faults.push(fault);
        self.backends.break_next(point.operation, &[point.text], &faults);
    }

    /// Returns when the host is held.
    pub async fn held(&self) {
        assert!(self.backends.held_within(PATIENCE).await, "{}: never came there", self.cell);
    }

    /// Posts with these claims. `None` if the host is gone before it has answered.
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

    /// All items of a table in DynamoDB's JSON, read from the engine.
    pub async fn scan(&self, table: &str) -> Vec<Value> {
        self.backends.scan(&self.client, table).await
    }

    /// These attributes of all items, sorted. A missing attribute is empty.
    pub async fn rows<const N: usize>(&self, table: &str, attributes: [&str; N]) -> Vec<[String; N]> {
        let value = |typed: &Value| typed.as_object()?.values().next()?.as_str().map(str::to_owned);
        let row = |item: &Value| attributes.map(|name| value(&item[name]).unwrap_or_default());
        let mut rows: Vec<_> = self.scan(table).await.iter().map(row).collect();
        rows.sort();
        rows
    }
}
