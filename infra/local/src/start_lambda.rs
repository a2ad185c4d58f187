//! Invokes functions in containers of Lambda's image through `sam local start-lambda`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// `start-lambda` reads a file that the host writes, so it starts later. This is the pause between attempts.
const RETRY_AFTER: Duration = Duration::from_millis(250);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct StartLambda {
    client: reqwest::Client,
    url: String,
    is_waiting: Arc<AtomicBool>,
    stop: CancellationToken,
}

impl StartLambda {
    /// For example at `http://127.0.0.1:3001`. Cancelling `stop` ends the wait for it.
    pub fn new(url: &str, stop: CancellationToken) -> Self {
        let client = provider_http::client(CONNECT_TIMEOUT);
        Self { client, url: url.trim_end_matches('/').to_owned(), is_waiting: Arc::default(), stop }
    }

    /// Invokes a function. Waits until `start-lambda` listens.
    pub async fn invoke(self, function: String, event: Value) -> Result<Value, String> {
        let Self { client, url, is_waiting, stop } = self;
        let url = format!("{url}/2015-03-31/functions/{function}/invocations");
        loop {
            match client.post(&url).json(&event).send().await {
                Ok(answer) => {
                    is_waiting.store(false, Ordering::Relaxed);
                    let status = answer.status().as_u16();
                    let has_failed = answer.headers().contains_key("x-amz-function-error");
                    let body = answer.bytes().await.map_err(|error| ledger::causes(&error))?;
                    return read(status, has_failed, &body);
                }
                Err(error) if error.is_connect() => {
                    if !is_waiting.swap(true, Ordering::Relaxed) {
                        tracing::warn!(url, "waiting for sam local start-lambda");
                    }
                    if stop.run_until_cancelled(tokio::time::sleep(RETRY_AFTER)).await.is_none() {
                        return Err("the host stopped before start-lambda answered".to_owned());
                    }
                }
                Err(error) => return Err(ledger::causes(&error)),
            }
        }
    }
}

/// The function's response or error.
fn read(status: u16, has_failed: bool, body: &[u8]) -> Result<Value, String> {
    let text = || String::from_utf8_lossy(body).into_owned();
    if has_failed || status >= 400 {
        return Err(format!("start-lambda answered {status}: {}", text()));
    }
    match serde_json::from_slice::<Value>(body) {
        // If the process exits, Lambda's emulator returns this body without the header.
        Ok(error) if error.get("errorType").is_some() && error.get("errorMessage").is_some() => Err(error.to_string()),
        Ok(answer) => Ok(answer),
        Err(_) if body.is_empty() => Err("empty response: the function exited or timed out".to_owned()),
        Err(_) => Err(format!("the response is not JSON: {}", text())),
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
