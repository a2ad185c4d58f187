//! `/local/*`: endpoints that exist only locally, for people and tests.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::future::join_all;
use providers::{Fault, Providers, Target};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::activity::Activity;
use crate::aws::{Clients, Endpoints};
use crate::deliveries::Deliveries;
use crate::demo::{self, Person};
use crate::environments::Environments;
use crate::functions::Invocable;
use crate::gateway::{Gateway, TokenRequest};
use crate::iam::IamGate;
use crate::mapping::{Drained, Redelivered, redeliver};
use crate::metrics::RecentMetrics;
use crate::provision::Provisioned;
use crate::template::Template;

pub struct Local {
    pub api: Router,
    pub gateway: Gateway,
    pub providers: Providers,
    pub providers_url: String,
    pub endpoints: Endpoints,
    pub clients: Clients,
    pub iam: IamGate,
    pub stack: String,
    pub template: Template,
    pub provisioned: Provisioned,
    pub deliveries: Deliveries,
    pub functions: Vec<Invocable>,
    pub environments: Environments,
    pub streams: Vec<Drained>,
    pub activity: Activity,
    pub metrics: RecentMetrics,
}

type Shared = State<Arc<Local>>;
type Body<T> = Result<Json<T>, JsonRejection>;

pub fn routes(local: Arc<Local>) -> Router {
    Router::new()
        .route("/local/tokens", post(tokens))
        .route("/local/sent", get(sent))
        .route("/local/faults", get(show_faults).post(faults))
        .route("/local/redeliver", post(redeliver_event))
        .route("/local/inject", post(inject))
        .route("/local/invoke", post(invoke))
        .route("/local/idle", get(idle))
        .route("/local/endpoints", get(endpoints))
        .route("/local/environment", get(environment))
        .route("/local/metrics", get(metrics))
        .route("/local/pulse", get(pulse))
        .route("/local/people", get(people))
        .route("/local/demo", post(fill_demo))
        .route("/local/rights", get(rights))
        .route("/local/secrets", post(put_secret))
        .with_state(local)
}

async fn tokens(State(local): Shared, body: Body<TokenRequest>) -> Result<Json<Value>, Refused> {
    let Json(request) = body?;
    Ok(Json(json!({"token": local.gateway.issue(&request)})))
}

#[derive(Debug, Deserialize)]
struct SentQuery {
    channel: Option<Target>,
}

async fn sent(
    State(local): Shared,
    query: Result<Query<SentQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Value>, Refused> {
    let Query(query) = query.map_err(|rejection| Refused::bad_request(rejection.body_text()))?;
    Ok(Json(json!({"sent": local.providers.sent(query.channel)})))
}

async fn faults(State(local): Shared, body: Body<Fault>) -> Result<Json<Value>, Refused> {
    let Json(fault) = body?;
    local.providers.set_fault(fault);
    Ok(Json(json!({})))
}

/// The faults that are set on the local providers.
async fn show_faults(State(local): Shared) -> Json<Value> {
    Json(json!({"faults": local.providers.faults()}))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Redeliver {
    event_id: String,
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

async fn redeliver_event(State(local): Shared, body: Body<Redeliver>) -> Result<Json<Value>, Refused> {
    let Json(Redeliver { event_id, times }) = body?;
    if !(1..=1000).contains(&times) {
        return Err(Refused::bad_request("times must be from 1 to 1000".to_owned()));
    }
    match redeliver(&local.deliveries, &local.functions, &event_id, times).await {
        Redelivered { deliveries: 0, .. } => {
            Err(Refused::not_found(format!("event {event_id} has not been delivered to any function yet")))
        }
        Redelivered { deliveries, failed } => Ok(Json(json!({"deliveries": deliveries, "failed": failed}))),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inject {
    queue: String,
    body: String,
}

async fn inject(State(local): Shared, body: Body<Inject>) -> Result<Json<Value>, Refused> {
    let Json(Inject { queue, body }) = body?;
    let is_named = |candidate: &&crate::template::Queue| {
        candidate.name == queue || candidate.logical_id == queue || candidate.name.ends_with(&format!("-{queue}"))
    };
    let Some(found) = local.template.queues.iter().find(is_named) else {
        return Err(Refused::unknown("queue", &queue, local.template.queues.iter().map(|queue| queue.name.as_str())));
    };
    let url = local.provisioned.queue_url(&found.logical_id);
    let sent = local.clients.sqs.send_message().queue_url(url).message_body(body).send().await;
    let sent = sent.map_err(|error| Refused::internal(&aws_sdk_sqs::error::DisplayErrorContext(&error)))?;
    Ok(Json(json!({"message_id": sent.message_id})))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Invoke {
    function: String,
    event: Value,
}

/// Invokes a function with any event, as `aws lambda invoke` does.
async fn invoke(State(local): Shared, body: Body<Invoke>) -> Result<Json<Value>, Refused> {
    let Json(Invoke { function, event }) = body?;
    let Some(found) = local.functions.iter().find(|candidate| candidate.name == function) else {
        return Err(Refused::unknown("function", &function, local.function_names()));
    };
    match found.invoke(event).await {
        Ok(response) => Ok(Json(json!({"response": response}))),
        Err(error) => Ok(Json(json!({"error": error}))),
    }
}

async fn endpoints(State(local): Shared) -> Json<Value> {
    let Endpoints { dynamodb, sqs } = &local.endpoints;
    Json(json!({"dynamodb": dynamodb, "sqs": sqs, "providers": local.providers_url, "stack": local.stack}))
}

#[derive(Debug, Deserialize)]
struct EnvironmentQuery {
    function: Option<String>,
}

/// The functions' environments: all in the format of `sam local invoke --env-vars`, or one in the format of `cargo
/// lambda watch --env-file`.
async fn environment(State(local): Shared, Query(query): Query<EnvironmentQuery>) -> Result<Response, Refused> {
    let Some(function) = query.function else {
        return Ok(Json(&local.environments).into_response());
    };
    let Some(lines) = local.environments.lines(&function) else {
        return Err(Refused::unknown("function", &function, local.function_names()));
    };
    Ok(lines.into_response())
}

async fn metrics(State(local): Shared) -> Json<Value> {
    Json(json!({"metrics": local.metrics.lines()}))
}

/// The functions' counts per second and the queues' lengths.
async fn pulse(State(local): Shared) -> Json<Value> {
    let worked = local.template.queues.iter().filter(|queue| queue.redrive.is_some());
    let queues = join_all(worked.map(|queue| async {
        let [waiting, in_flight, delayed] = local.queue_counts(&queue.logical_id).await?;
        let name = queue.name.strip_prefix(&local.stack).unwrap_or(&queue.name).trim_start_matches('-');
        Some(json!({"queue": name, "waiting": waiting, "in_flight": in_flight, "delayed": delayed}))
    }));
    let queues: Vec<Value> = queues.await.into_iter().flatten().collect();
    let now = jiff::Timestamp::now().as_second();
    Json(json!({"now": now, "pulse": local.metrics.pulse(), "queues": queues}))
}

async fn people() -> Json<Value> {
    let people = demo::people().map(|Person { user_type, user_id, details }| {
        json!({"user_type": user_type, "user_id": user_id, "name": details["name"]})
    });
    Json(json!({"people": people}))
}

async fn fill_demo(State(local): Shared) -> Result<Json<Value>, Refused> {
    demo::fill(local.api.clone(), &local.gateway).await.map_err(|error| Refused::internal(&error))?;
    Ok(Json(json!({})))
}

/// Each function's permissions, whether it has used them, and what it was denied.
async fn rights(State(local): Shared) -> Json<Value> {
    Json(local.iam.report())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PutSecret {
    name: String,
    value: Value,
}

/// Rotates a secret: the current value becomes the previous one. The stack's prefix of the name is optional.
async fn put_secret(State(local): Shared, body: Body<PutSecret>) -> Result<Json<Value>, Refused> {
    let Json(PutSecret { name, value }) = body?;
    let secrets = local.providers.secrets();
    let names = secrets.names();
    let full = format!("{}-{name}", local.stack);
    let Some(found) = names.iter().find(|known| **known == name || **known == full) else {
        return Err(Refused::unknown("secret", &name, names.iter().map(String::as_str)));
    };
    // Secrets are texts. An object is stored as JSON.
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    secrets.put(found, text);
    Ok(Json(json!({})))
}

#[derive(Debug, Deserialize)]
struct Idle {
    timeout: Option<f64>,
}

/// Returns when every stream and queue is drained, including messages in flight or delayed.
async fn idle(State(local): Shared, Query(query): Query<Idle>) -> Response {
    let limit = Duration::from_secs_f64(query.timeout.unwrap_or(30.0).clamp(0.0, 600.0));
    match tokio::time::timeout(limit, local.until_idle()).await {
        Ok(()) => Json(json!({"idle": true})).into_response(),
        Err(_) => {
            Refused(StatusCode::GATEWAY_TIMEOUT, "UNAVAILABLE", "streams and queues are not drained yet".to_owned())
                .into_response()
        }
    }
}

impl Local {
    fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|function| function.name.as_str())
    }

    async fn until_idle(&self) {
        loop {
            let begun = self.activity.begun();
            if self.activity.running() == 0 {
                // Each check begins after the one before has found nothing: a stream feeds queues, and their consumers
                // feed streams. If nothing began meanwhile, everything was drained at once.
                join_all(self.streams.iter().map(Drained::after_now)).await;
                if self.queues_are_empty().await && self.activity.begun() == begun && self.activity.running() == 0 {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Only queues with a consumer: a dead letter queue without one never empties.
    async fn queues_are_empty(&self) -> bool {
        let read = self.template.functions.iter().flat_map(|function| &function.queues);
        let empty = join_all(read.map(|mapping| self.queue_is_empty(&mapping.queue))).await;
        empty.into_iter().all(|empty| empty)
    }

    async fn queue_is_empty(&self, logical_id: &str) -> bool {
        self.queue_counts(logical_id).await == Some([0; 3])
    }

    /// Visible, in-flight and delayed messages. `None` if the queue does not answer.
    async fn queue_counts(&self, logical_id: &str) -> Option<[u64; 3]> {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let url = self.provisioned.queue_url(logical_id);
        let request = self.clients.sqs.get_queue_attributes().queue_url(url);
        let request = request.set_attribute_names(Some(names.clone().into()));
        let counts = request.send().await.ok().and_then(|output| output.attributes)?;
        let [waiting, in_flight, delayed] = names.map(|name| counts.get(&name).and_then(|count| count.parse().ok()));
        Some([waiting?, in_flight?, delayed?])
    }
}

/// An error in the format of the API's.
struct Refused(StatusCode, &'static str, String);

impl Refused {
    fn bad_request(message: String) -> Self {
        Self(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    }

    fn not_found(message: String) -> Self {
        Self(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.collect();
        Self::not_found(format!("no {kind} {name}; the {kind}s are {}", known.join(", ")))
    }

    fn internal(error: &impl std::fmt::Display) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", error.to_string())
    }
}

impl From<JsonRejection> for Refused {
    fn from(rejection: JsonRejection) -> Self {
        Self::bad_request(rejection.body_text())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(json!({"code": self.1, "message": self.2}))).into_response()
    }
}
