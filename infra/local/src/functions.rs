//! The functions of this build, by the binary names in the template.
//!
//! A function is invoked as in Lambda: JSON in, JSON out, within its timeout. A handler sees what it would see there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use belfry_aws::lambda::Start;
use futures_util::future::BoxFuture;
use lambda_runtime::LambdaEvent;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::Instrument;

use crate::activity::Activity;
use crate::aws::Clients;
use crate::http_event;
use crate::metrics::RecentMetrics;
use crate::start_lambda::StartLambda;
use crate::template::Function;

/// How long a container may take to start, in addition to the function's timeout.
const COLD_CONTAINER: Duration = Duration::from_secs(60);

type Handler = dyn Fn(Value) -> BoxFuture<'static, Result<Value, String>> + Send + Sync;

/// A function that can be invoked with an event.
#[derive(Clone)]
pub struct Invocable {
    /// The logical id.
    pub name: String,
    timeout: Duration,
    handler: Arc<Handler>,
    activity: Activity,
}

/// A started function.
pub enum Started {
    /// It answers HTTP. It can also be invoked with API Gateway's events.
    Http(axum::Router, Invocable),
    Events(Invocable),
}

/// A function did not start.
#[derive(Debug, thiserror::Error)]
#[error("function {name}: {problem}")]
pub struct StartError {
    name: String,
    problem: String,
}

/// Starts a function with the environment that the template gives it.
pub fn start(
    function: &Function,
    environment: BTreeMap<String, String>,
    clients: &Clients,
    activity: &Activity,
    metrics: &RecentMetrics,
) -> Result<Started, StartError> {
    let own: belfry_aws::Settings = environment.into_iter().collect();
    let own_metrics = metrics.sink();
    let mut start = Start::with(own, clients.aws.clone(), clients.dynamodb.clone(), clients.sqs.clone(), own_metrics);
    let failed = |problem: String| StartError { name: function.logical_id.clone(), problem };
    let invocable = |handler| Invocable::new(function, Duration::ZERO, handler, activity);
    // Built with the settings of the environment. All mistakes are reported together.
    macro_rules! on_the_kernel {
        ($function:expr) => {{
            let service = $function(&mut start);
            start.finish().map_err(|mistakes| failed(mistakes.to_string()))?;
            Ok(Started::Events(invocable(served(function, service))))
        }};
    }
    match function.binary.as_str() {
        "api" => {
            let router = api::router(&mut start);
            start.finish().map_err(|mistakes| failed(mistakes.to_string()))?;
            let invoked = router.clone();
            let invoked = invocable(Arc::new(move |event| Box::pin(http_event::invoke(invoked.clone(), event))));
            Ok(Started::Http(router, invoked))
        }
        "outbox-stream" => on_the_kernel!(outbox_stream::function),
        "fanout" => on_the_kernel!(fanout::function),
        "deliver" => on_the_kernel!(deliver::function),
        "inventory" => on_the_kernel!(saga::inventory::function),
        "payment" => on_the_kernel!(saga::payment::function),
        "order" => on_the_kernel!(saga::order::function),
        "dead-letters" => on_the_kernel!(dead_letters::function),
        "live" => on_the_kernel!(live::function),
        "sweep" => on_the_kernel!(sweep::function),
        other => Err(failed(format!("this build has no binary `{other}`"))),
    }
}

/// The span of an invocation: log lines within it name the function.
pub fn span(function: &str) -> tracing::Span {
    tracing::error_span!("invocation", function)
}

/// A function that runs on the kernel.
trait Served<E, R>:
    tower::Service<LambdaEvent<E>, Response = R, Error: std::fmt::Display> + Clone + Send + Sync + 'static
{
}

impl<S, E, R> Served<E, R> for S where
    S: tower::Service<LambdaEvent<E>, Response = R, Error: std::fmt::Display> + Clone + Send + Sync + 'static
{
}

/// Invokes the function with a context that holds its deadline, as Lambda does.
fn served<S, E, R>(function: &Function, service: S) -> Arc<Handler>
where
    S: Served<E, R>,
    S::Future: Send,
    E: DeserializeOwned + Send + 'static,
    R: Serialize,
{
    let limit = Duration::from_secs(function.timeout.into());
    Arc::new(move |event| {
        let mut service = service.clone();
        let mut context = lambda_runtime::Context::default();
        let deadline = belfry_aws::Timestamp::now().plus(limit).as_millis();
        context.deadline = u64::try_from(deadline).unwrap_or_default();
        Box::pin(async move {
            let payload: E = serde_json::from_value(event).map_err(|error| error.to_string())?;
            let response = service.call(LambdaEvent { payload, context }).await.map_err(|error| error.to_string())?;
            serde_json::to_value(response).map_err(|error| error.to_string())
        })
    })
}

/// A function in a container of `sam local start-lambda`.
pub fn in_container(function: &Function, lambda: &StartLambda, activity: &Activity) -> Invocable {
    let (lambda, name) = (lambda.clone(), function.logical_id.clone());
    let handler = move |event| lambda.clone().invoke(name.clone(), event);
    Invocable::new(function, COLD_CONTAINER, Arc::new(move |event| Box::pin(handler(event))), activity)
}

impl Invocable {
    fn new(function: &Function, extra: Duration, handler: Arc<Handler>, activity: &Activity) -> Self {
        Self {
            name: function.logical_id.clone(),
            timeout: Duration::from_secs(function.timeout.into()) + extra,
            handler,
            activity: activity.clone(),
        }
    }
}

#[cfg(test)]
impl Invocable {
    /// A function of a test's own.
    pub fn of_test(handle: impl Fn(Value) -> Result<Value, String> + Send + Sync + 'static) -> Self {
        let handler: Arc<Handler> = Arc::new(move |event| {
            let response = handle(event);
            Box::pin(async move { response })
        });
        Self { name: "Test".to_owned(), timeout: Duration::from_secs(5), handler, activity: Activity::default() }
    }
}

impl Invocable {
    /// Invokes the function. An error is a function error in Lambda's sense: a panic, a failure or a timeout.
    pub async fn invoke(&self, event: Value) -> Result<Value, String> {
        let _running = self.activity.begin();
        // In its own task, so a panic is the function's error and does not end the poller.
        let invocation = tokio::spawn((self.handler)(event).instrument(span(&self.name)));
        let abort = invocation.abort_handle();
        match tokio::time::timeout(self.timeout, invocation).await {
            Ok(Ok(response)) => response,
            Ok(Err(panicked)) => Err(panicked.to_string()),
            Err(_) => {
                abort.abort();
                Err(format!("timed out after {} seconds", self.timeout.as_secs()))
            }
        }
    }
}

impl std::fmt::Debug for Invocable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocable").field("name", &self.name).finish_non_exhaustive()
    }
}
