//! The events that API Gateway sends to the functions behind a WebSocket API.

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

use super::WebSocketGateway;
use crate::template::Route;

/// The part that all events of a connection share.
#[derive(Debug, Clone)]
pub struct About {
    pub connection_id: String,
    pub connected_at: jiff::Timestamp,
}

impl WebSocketGateway {
    pub fn connect_event(&self, about: &About, headers: &HeaderMap, query: &[(String, String)]) -> Value {
        let headers: Vec<_> = headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            .collect();
        let mut event = self.event(about, Route::Connect, "CONNECT");
        event["headers"] = last_of_each(&headers);
        event["multiValueHeaders"] = all_of_each(&headers);
        // API Gateway leaves the fields out if there are no parameters.
        if !query.is_empty() {
            event["queryStringParameters"] = last_of_each(query);
            event["multiValueQueryStringParameters"] = all_of_each(query);
        }
        event
    }

    pub fn disconnect_event(&self, about: &About, code: u16, reason: &str) -> Value {
        let mut event = self.event(about, Route::Disconnect, "DISCONNECT");
        event["requestContext"]["disconnectStatusCode"] = json!(code);
        event["requestContext"]["disconnectReason"] = json!(reason);
        event
    }

    pub fn message_event(&self, about: &About, body: &str, is_base64: bool) -> Value {
        let mut event = self.event(about, Route::Default, "MESSAGE");
        event["requestContext"]["messageId"] = json!(uuid::Uuid::now_v7());
        event["body"] = json!(body);
        event["isBase64Encoded"] = json!(is_base64);
        event
    }

    fn event(&self, about: &About, route: Route, kind: &str) -> Value {
        let now = jiff::Timestamp::now();
        let request_id = uuid::Uuid::now_v7();
        json!({
            "requestContext": {
                "routeKey": route.key(),
                "eventType": kind,
                "messageDirection": "IN",
                "stage": self.stage,
                "connectionId": about.connection_id,
                "connectedAt": about.connected_at.as_millisecond(),
                "requestId": request_id,
                "extendedRequestId": request_id,
                "requestTime": now.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
                "requestTimeEpoch": now.as_millisecond(),
                "identity": {"sourceIp": "127.0.0.1"},
                "domainName": "localhost",
                "apiId": "local",
            },
            "isBase64Encoded": false,
        })
    }
}

fn last_of_each(pairs: &[(String, String)]) -> Value {
    pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>().into()
}

fn all_of_each(pairs: &[(String, String)]) -> Value {
    let mut all: Map<String, Value> = Map::new();
    for (name, value) in pairs {
        if let Value::Array(values) = all.entry(name.clone()).or_insert_with(|| json!([])) {
            values.push(json!(value));
        }
    }
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_repeated_parameter_the_last_counts_and_all_are_told() {
        let pairs = [("t", "1"), ("u", "2"), ("t", "3")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(last_of_each(&pairs), json!({"t": "3", "u": "2"}));
        assert_eq!(all_of_each(&pairs), json!({"t": ["1", "3"], "u": ["2"]}));
    }
}
