//! The live sockets: who opens one, and who has gone.
//!
//! API Gateway holds the sockets and calls this function when one opens (`$connect`) or closes (`$disconnect`). A socket opens
//! only if this answers 2xx. Clients only listen: there is no route for what they send. What is sent through a socket comes
//! from elsewhere: `shared/sockets`.

mod connect;
mod disconnect;

use aws_lambda_events::apigw::ApiGatewayWebsocketProxyRequest;
use ledger::{Connections, Ledger, LedgerError, LiveTickets};
use runtime::{BadSetting, Settings};
use serde::Serialize;

/// The function, with what it needs for every event.
#[derive(Debug)]
pub struct Live {
    ledger: Ledger,
    tickets: LiveTickets,
    connections: Connections,
}

/// What API Gateway is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// 2xx lets the socket open.
    #[serde(rename = "statusCode")]
    pub status_code: u16,
}

impl Answer {
    const OK: Self = Self { status_code: 200 };
    const BAD_REQUEST: Self = Self { status_code: 400 };
    const UNAUTHENTICATED: Self = Self { status_code: 401 };
    const UNAVAILABLE: Self = Self { status_code: 503 };
}

/// What happened to a socket.
#[derive(Debug, PartialEq, Eq)]
enum Happened<'a> {
    /// Somebody wants to open it, with this ticket.
    Opening { connection_id: &'a str, ticket: Option<&'a str> },
    /// It is closed.
    Closed { connection_id: &'a str },
    /// The event is none of these two.
    Nonsense,
}

impl Live {
    /// Reads the tables' names.
    pub fn new(settings: &Settings, ledger: Ledger) -> Result<Self, BadSetting> {
        Ok(Self {
            ledger,
            tickets: LiveTickets::new(settings.text("BELFRY_LIVE_TICKETS_TABLE")?),
            connections: Connections::new(settings.text("BELFRY_CONNECTIONS_TABLE")?),
        })
    }

    /// One event of a socket.
    pub async fn handle(&self, event: ApiGatewayWebsocketProxyRequest) -> Answer {
        let answered = match happened(&event) {
            Happened::Opening { connection_id, ticket } => self.connect(connection_id, ticket).await,
            Happened::Closed { connection_id } => self.disconnect(connection_id).await,
            Happened::Nonsense => Ok(Answer::BAD_REQUEST),
        };
        answered.unwrap_or_else(|error: LedgerError| {
            tracing::error!(reason = %error, route = event.request_context.route_key, "live socket");
            Answer::UNAVAILABLE
        })
    }
}

fn happened(event: &ApiGatewayWebsocketProxyRequest) -> Happened<'_> {
    let context = &event.request_context;
    match (context.route_key.as_deref(), context.connection_id.as_deref()) {
        (Some("$connect"), Some(connection_id)) => {
            Happened::Opening { connection_id, ticket: event.query_string_parameters.first("ticket") }
        }
        (Some("$disconnect"), Some(connection_id)) => Happened::Closed { connection_id },
        _ => Happened::Nonsense,
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
    fn a_socket_opens_with_the_ticket_of_its_query() {
        let connection_id = "L0SM9cOFvHcCIhw=";
        let with = event("$connect", &json!({"ticket": "t"}));
        assert_eq!(happened(&with), Happened::Opening { connection_id, ticket: Some("t") });
        let without = event("$connect", &Value::Null);
        assert_eq!(happened(&without), Happened::Opening { connection_id, ticket: None });
    }

    #[test]
    fn a_socket_closes_by_its_id() {
        let closed = event("$disconnect", &Value::Null);
        assert_eq!(happened(&closed), Happened::Closed { connection_id: "L0SM9cOFvHcCIhw=" });
    }

    #[test]
    fn an_event_without_a_socket_or_on_another_route_is_nonsense() {
        assert_eq!(happened(&event("$default", &Value::Null)), Happened::Nonsense);
        let mut event = event("$connect", &Value::Null);
        event.request_context.connection_id = None;
        assert_eq!(happened(&event), Happened::Nonsense);
    }
}
