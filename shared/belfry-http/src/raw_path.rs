//! Restores the path that the client sent.
//!
//! API Gateway's HTTP APIs decode the escapes in `rawPath`, and `lambda_http` reads the result as if it were still encoded:
//! `a%2523b` would become `a#b`, another id. So the decoded text is encoded again before it is routed, and a handler sees it
//! decoded once. A `/` inside an id cannot be told from a separator any more: such ids work in bodies, not in paths.

use axum::http::Uri;
use lambda_http::{Request, RequestExt};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that a path may contain as they are.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes the path that API Gateway decoded. [`run`](crate::run) does it; hosts that invoke a router themselves call it.
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
        for decoded in ["/readers/r-1/loans", "/readers/a#b", "/readers/a%23b", "/readers/ü %", "/a/../b"] {
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
