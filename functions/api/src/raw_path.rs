//! The path as the caller meant it.
//!
//! API Gateway's HTTP APIs hand a function `rawPath` with its escapes already decoded, and the adapter reads it as if it
//! were encoded: `a%2523b` would come out as `a#b`, another user. So the decoded text is encoded again before it is routed,
//! and what a handler sees is what API Gateway decoded, once. A `/` inside an id cannot be told from a separator any more:
//! such ids can stand in bodies and tokens, not in paths.

use axum::http::Uri;
use lambda_http::{Request, RequestExt};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What may stand in a path as it is: the separators, and what needs no escape anywhere.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Puts the path back as the gateway decoded it.
pub fn restore(mut request: Request) -> Request {
    let path = utf8_percent_encode(request.raw_http_path(), PLAIN).to_string();
    // The adapter loses the query behind a decoded `#`, but keeps its parameters.
    let query = request.query_string_parameters().to_query_string();
    let restored = if query.is_empty() { path.parse::<Uri>() } else { format!("{path}?{query}").parse::<Uri>() };
    if let Ok(uri) = restored {
        *request.uri_mut() = uri;
    }
    request
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use serde_json::json;

    use super::*;

    fn event(raw_path: &str) -> Request {
        let event = json!({
            "version": "2.0",
            "routeKey": "ANY /{proxy+}",
            "rawPath": raw_path,
            "rawQueryString": "limit=3&cursor=a%20b",
            "headers": {"host": "abc.execute-api.eu-west-1.amazonaws.com"},
            "requestContext": {
                "accountId": "000000000000", "apiId": "abc", "stage": "$default", "requestId": "r", "timeEpoch": 0,
                "http": {"method": "GET", "path": raw_path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
            },
            "isBase64Encoded": false,
        });
        lambda_http::request::from_str(&event.to_string()).expect("a request")
    }

    #[test]
    fn a_path_is_decoded_once_and_only_once() {
        for decoded in ["/v1/users/u-1/entitlements", "/v1/users/a#b", "/v1/users/a%23b", "/v1/users/ü %", "/v1/a/../b"]
        {
            let restored = restore(event(decoded));
            let path = percent_decode_str(restored.uri().path()).decode_utf8().expect("text");
            assert_eq!(path, decoded, "{}", restored.uri());
            let query = restored.uri().query().expect("a query").replace('+', "%20");
            let mut parameters: Vec<&str> = query.split('&').collect();
            parameters.sort_unstable();
            assert_eq!(parameters, ["cursor=a%20b", "limit=3"], "{decoded}");
        }
    }
}
