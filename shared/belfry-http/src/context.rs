//! What every request carries: a request id, a trace, and who calls.

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::Response;
use belfry_aws::Trace;
use tracing::Instrument;

use crate::identity::{Identity, request_id};

/// A middleware for all routes: reads the [`Identity`], continues the `traceparent` or begins a trace, runs the request in
/// a span with its ids, and adds `x-request-id` to the response.
///
/// ```
/// use belfry_http::{JwtCaller, axum, context};
///
/// let router: axum::Router = axum::Router::new();
/// let router = router.layer(axum::middleware::from_fn(context::<JwtCaller>));
/// ```
pub async fn context<I: Identity>(mut request: Request, next: Next) -> Response {
    let trace = request.headers().get("traceparent").and_then(|value| Trace::parse(value.to_str().ok()?).ok());
    let trace = trace.as_ref().map_or_else(Trace::begin, Trace::child);
    let trace_id = trace.trace_id().to_owned();
    let identity = I::read(request.extensions());
    let extensions = request.extensions_mut();
    extensions.insert(trace);
    if let Some(identity) = identity {
        extensions.insert(identity.caller().clone());
        extensions.insert(identity);
    }
    let request_id = request_id(extensions).unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    let span = tracing::info_span!("request", request_id, trace_id, method = %request.method());
    let mut response = next.run(request).instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
}
