//! A request to the API, as the event that its function is invoked with.

use serde_json::{Value, json};

/// A request as API Gateway hands it over.
pub struct Request {
    pub method: &'static str,
    pub path: String,
    /// Who asks: subject, kind, scopes.
    pub by: (&'static str, &'static str, &'static str),
    pub key: Option<&'static str>,
    pub body: Value,
}

impl Request {
    /// The event.
    pub fn event(&self) -> Value {
        let Self { method, path, by: (sub, user_type, scope), key, body } = self;
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut headers = json!({"content-type": "application/json", "host": "belfry.example.com"});
        if let Some(key) = key {
            headers["idempotency-key"] = json!(key);
        }
        let claims = json!({
            "iss": "https://belfry.example.com/issuer", "sub": sub, "user_type": user_type, "scope": scope,
            "exp": "4102444800",
        });
        let body = match body {
            Value::Null => Value::Null,
            Value::String(text) => json!(text),
            body => json!(body.to_string()),
        };
        json!({
            "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query, "headers": headers,
            "requestContext": {
                "accountId": "000000000000", "apiId": "local",
                "authorizer": {"jwt": {"claims": claims, "scopes": null}},
                "domainName": "belfry.example.com", "domainPrefix": "belfry",
                "http": {
                    "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1",
                    "userAgent": "curl/8.5.0",
                },
                "requestId": "JKJaXmPLvHcESHA=", "routeKey": "$default", "stage": "$default",
                "time": "16/Nov/2026:09:00:00 +0000", "timeEpoch": 1_794_819_600_000_u64,
            },
            "body": body, "isBase64Encoded": false,
        })
    }
}
