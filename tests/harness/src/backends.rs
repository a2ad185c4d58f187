//! What hosts run on while they come and go: engines and providers in this process, and a proxy before each.

use std::time::Duration;

use engine::{Engine, Ports};
use providers::Providers;
use serde_json::{Value, json};

use crate::{Fault, Proxy, ask_dynamodb};

/// Engines, providers and their proxies. They end with this value.
pub struct Backends {
    /// The proxy before DynamoDB.
    pub dynamodb: Proxy,
    /// The proxy before SQS.
    pub sqs: Proxy,
    /// The providers.
    pub providers: Providers,
    /// Where they answer, past their proxy.
    pub providers_url: String,
    /// The proxy before them.
    pub providers_proxy: Proxy,
    engine: Engine,
}

impl std::fmt::Debug for Backends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backends").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Backends {
    /// Starts all of them, on any free ports.
    pub async fn start() -> Self {
        let engine = Engine::start(Ports::default()).await.expect("engines");
        let providers = Providers::new();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let providers_url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(providers.clone().serve(listener, std::future::pending()));
        Self {
            dynamodb: Proxy::start(engine.dynamodb_url()).await,
            sqs: Proxy::start(engine.sqs_url()).await,
            providers_proxy: Proxy::start(&providers_url).await,
            providers_url,
            providers,
            engine,
        }
    }

    /// What a host finds in its environment to run on these, through the proxies.
    pub fn environment(&self) -> Vec<(String, String)> {
        let engines = [("AWS_ENDPOINT_URL_DYNAMODB", self.dynamodb.url()), ("AWS_ENDPOINT_URL_SQS", self.sqs.url())];
        let engines = engines.map(|(name, url)| (name.to_owned(), url.to_owned()));
        local::providers_at(self.providers_proxy.url()).into_iter().chain(engines).collect()
    }

    /// Where DynamoDB answers, past the proxy.
    pub fn dynamodb_url(&self) -> &str {
        self.engine.dynamodb_url()
    }

    /// Where SQS answers, past the proxy.
    pub fn sqs_url(&self) -> &str {
        self.engine.sqs_url()
    }

    /// Plans what happens to the next calls of an operation that have all of these texts in their body.
    pub fn break_next(&self, operation: &str, texts: &[&str], faults: &[Fault]) {
        // No operation is of two of them.
        for proxy in [&self.dynamodb, &self.sqs, &self.providers_proxy] {
            proxy.break_next_with_all(operation, texts, faults);
        }
    }

    /// Returns when a call is held; whether that was in time.
    pub async fn held_within(&self, patience: Duration) -> bool {
        let held = async {
            tokio::select! {
                () = self.dynamodb.held() => {}
                () = self.sqs.held() => {}
                () = self.providers_proxy.held() => {}
            }
        };
        tokio::time::timeout(patience, held).await.is_ok()
    }

    /// Breaks nothing any more.
    pub fn mend(&self) {
        self.dynamodb.mend();
        self.sqs.mend();
        self.providers_proxy.mend();
    }

    /// All items of a table that has no more than a page of them, in DynamoDB's own JSON, past the proxy.
    pub async fn scan(&self, client: &reqwest::Client, table: &str) -> Vec<Value> {
        let body = json!({"TableName": format!("belfry-local-{table}"), "ConsistentRead": true});
        let (_, answer) = ask_dynamodb(client, self.dynamodb_url(), "Scan", &body).await;
        assert!(answer["LastEvaluatedKey"].is_null(), "{table} is more than one page");
        answer["Items"].as_array().expect("items").clone()
    }

    /// Stops the engines.
    pub async fn stop(self) {
        self.engine.stop().await;
    }
}
