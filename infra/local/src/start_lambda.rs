//! `sam local start-lambda`: functions in containers of Lambda's own image, invoked over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// How long to wait before asking again where nobody listens yet: `start-lambda` reads what the host has written, so it
/// starts later.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// How long a connection may take.
const TO_CONNECT: Duration = Duration::from_secs(2);

/// Where `start-lambda` answers.
#[derive(Debug, Clone)]
pub struct StartLambda {
    client: reqwest::Client,
    url: String,
    is_missed: Arc<AtomicBool>,
    stop: CancellationToken,
}

impl StartLambda {
    /// It answers at `url`, for example `http://127.0.0.1:3001`. Once `stop` is cancelled, nobody waits for it to listen.
    pub fn new(url: &str, stop: CancellationToken) -> Self {
        let client = provider_http::client(TO_CONNECT);
        Self { client, url: url.trim_end_matches('/').to_owned(), is_missed: Arc::default(), stop }
    }

    /// Invokes a function and waits for its answer, as long as its caller does; for `start-lambda` itself as well.
    pub async fn invoke(self, function: String, event: Value) -> Result<Value, String> {
        let Self { client, url, is_missed, stop } = self;
        let url = format!("{url}/2015-03-31/functions/{function}/invocations");
        loop {
            match client.post(&url).json(&event).send().await {
                Ok(answer) => {
                    is_missed.store(false, Ordering::Relaxed);
                    let status = answer.status().as_u16();
                    let has_failed = answer.headers().contains_key("x-amz-function-error");
                    let body = answer.bytes().await.map_err(|error| ledger::causes(&error))?;
                    return read(status, has_failed, &body);
                }
                Err(error) if error.is_connect() => {
                    if !is_missed.swap(true, Ordering::Relaxed) {
                        tracing::warn!(url, "sam local start-lambda does not answer: waiting for it");
                    }
                    if stop.run_until_cancelled(tokio::time::sleep(ASK_AGAIN)).await.is_none() {
                        return Err("the host stops, and start-lambda does not answer".to_owned());
                    }
                }
                Err(error) => return Err(ledger::causes(&error)),
            }
        }
    }
}

/// What an answer of `start-lambda` says of the invocation.
fn read(status: u16, has_failed: bool, body: &[u8]) -> Result<Value, String> {
    let said = || String::from_utf8_lossy(body).into_owned();
    if has_failed || status >= 400 {
        return Err(format!("start-lambda answered {status}: {}", said()));
    }
    match serde_json::from_slice::<Value>(body) {
        // A process that ended has no answer: Lambda's emulator gives this one, without the header.
        Ok(error) if error.get("errorType").is_some() && error.get("errorMessage").is_some() => Err(error.to_string()),
        Ok(answer) => Ok(answer),
        Err(_) if body.is_empty() => Err("no answer: the function ended or timed out".to_owned()),
        Err(_) => Err(format!("not JSON: {}", said())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_an_answer_without_an_error_is_one() {
        assert_eq!(read(200, false, b"{\"batchItemFailures\": []}"), Ok(json!({"batchItemFailures": []})));
        assert_eq!(read(200, false, b"null"), Ok(Value::Null));
        let exited = br#"{"errorType": "Runtime.ExitError", "errorMessage": "exit status 1"}"#;
        for (status, has_failed, body) in [
            (200, true, &b"{}"[..]),
            (200, false, exited),
            (200, false, b""),
            (200, false, b"Traceback"),
            (404, false, b"{\"Type\": \"User\"}"),
            (502, false, b"{}"),
        ] {
            assert!(read(status, has_failed, body).is_err(), "{status} {}", String::from_utf8_lossy(body));
        }
    }
}
