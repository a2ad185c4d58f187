//! Live connections: opens them and deletes closed ones.
//!
//! API Gateway holds the connections and calls this function when one opens (`$connect`) or closes (`$disconnect`). A
//! connection opens only if the response is 2xx. Clients only listen: there is no route for messages from them. Messages to
//! them are sent by `shared/sockets`.

mod connect;
mod disconnect;

use std::convert::Infallible;
use std::task::{Context, Poll};

use belfry_aws::aws_lambda_events::apigw::ApiGatewayWebsocketProxyRequest;
use belfry_aws::lambda::Start;
use belfry_aws::lambda_runtime::LambdaEvent;
use belfry_aws::{Belfry, Error};
use futures_util::future::BoxFuture;
use serde::Serialize;
use store::{connections, live_tickets};
use tower::Service;

/// The function.
#[derive(Debug, Clone)]
pub struct Live {
    belfry: Belfry,
}

/// The response to API Gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SocketResponse {
    /// 2xx lets the connection open.
    #[serde(rename = "statusCode")]
    pub status_code: u16,
}

impl SocketResponse {
    const OK: Self = Self { status_code: 200 };
    const BAD_REQUEST: Self = Self { status_code: 400 };
    const UNAUTHENTICATED: Self = Self { status_code: 401 };
    const UNAVAILABLE: Self = Self { status_code: 503 };
}

/// What API Gateway reports of a connection.
#[derive(Debug, PartialEq, Eq)]
enum SocketEvent<'a> {
    /// A client wants to open it with this ticket.
    Opening { connection_id: &'a str, ticket: Option<&'a str> },
    /// It is closed.
    Closed { connection_id: &'a str },
    /// Another route, or no connection.
    Unknown,
}

/// Reads the tables' names.
pub fn function(start: &mut Start) -> Live {
    Live { belfry: store::belfry(start, [live_tickets::TABLE, connections::TABLE]) }
}

impl Live {
    /// Handles one event of a connection.
    pub async fn handle(&self, event: &ApiGatewayWebsocketProxyRequest) -> SocketResponse {
        let response = match read(event) {
            SocketEvent::Opening { connection_id, ticket } => self.connect(connection_id, ticket).await,
            SocketEvent::Closed { connection_id } => self.disconnect(connection_id).await,
            SocketEvent::Unknown => Ok(SocketResponse::BAD_REQUEST),
        };
        response.unwrap_or_else(|error: Error| {
            tracing::error!(%error, route = event.request_context.route_key, "connection event failed");
            SocketResponse::UNAVAILABLE
        })
    }
}

impl Service<LambdaEvent<ApiGatewayWebsocketProxyRequest>> for Live {
    type Response = SocketResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<SocketResponse, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, event: LambdaEvent<ApiGatewayWebsocketProxyRequest>) -> Self::Future {
        let live = self.clone();
        Box::pin(async move { Ok(live.handle(&event.payload).await) })
    }
}

fn read(event: &ApiGatewayWebsocketProxyRequest) -> SocketEvent<'_> {
    let context = &event.request_context;
    match (context.route_key.as_deref(), context.connection_id.as_deref()) {
        (Some("$connect"), Some(connection_id)) => {
            SocketEvent::Opening { connection_id, ticket: event.query_string_parameters.first("ticket") }
        }
        (Some("$disconnect"), Some(connection_id)) => SocketEvent::Closed { connection_id },
        _ => SocketEvent::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(route: &str, query: &Value) -> ApiGatewayWebsocketProxyRequest {
        serde_json::from_value(json!({
            "headers": {"Host": "abc.execute-api.us-east-1.amazonaws.com"},
            "multiValueHeaders": {"Host": ["abc.execute-api.us-east-1.amazonaws.com"]},
            "queryStringParameters": query,
            "requestContext": {
                "routeKey": route, "eventType": "CONNECT", "messageDirection": "IN", "stage": "live", "apiId": "abc",
                "connectedAt": 1_738_000_000_000_i64, "requestTimeEpoch": 1_738_000_000_001_i64,
                "requestId": "r", "connectionId": "L0SM9cOFvHcCIhw=", "identity": {"sourceIp": "192.0.2.1"},
            },
            "isBase64Encoded": false,
        }))
        .expect("an event")
    }

    #[test]
    fn a_connection_opens_with_the_ticket_of_its_query() {
        let connection_id = "L0SM9cOFvHcCIhw=";
        let with = event("$connect", &json!({"ticket": "t"}));
        assert_eq!(read(&with), SocketEvent::Opening { connection_id, ticket: Some("t") });
        let without = event("$connect", &Value::Null);
        assert_eq!(read(&without), SocketEvent::Opening { connection_id, ticket: None });
    }

    #[test]
    fn a_connection_closes_by_its_id() {
        let closed = event("$disconnect", &Value::Null);
        assert_eq!(read(&closed), SocketEvent::Closed { connection_id: "L0SM9cOFvHcCIhw=" });
    }

    #[test]
    fn an_event_without_a_connection_or_on_another_route_is_refused() {
        assert_eq!(read(&event("$default", &Value::Null)), SocketEvent::Unknown);
        let mut event = event("$connect", &Value::Null);
        event.request_context.connection_id = None;
        assert_eq!(read(&event), SocketEvent::Unknown);
    }
}
