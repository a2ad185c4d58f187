//! HTTP as providers are spoken to.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};

use crate::connect_limit;

/// More than any answer of a provider has; one that goes on longer is not read further.
const MOST_OF_AN_ANSWER: usize = 64 * 1024;

/// A client that follows no redirect (it would carry the request to somebody else), repeats nothing and keeps no
/// connection. Each request sets its own time limit.
///
/// Panics on a machine without TLS roots, where nothing could ever be sent.
pub fn client(limit: Duration) -> Client {
    Client::builder()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0)
        .connect_timeout(connect_limit(limit))
        .build()
        .expect("TLS roots")
}

/// As much of an answer as came: the status has said the most important thing already.
pub async fn body(mut answer: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MOST_OF_AN_ANSWER {
            break;
        }
    }
    body
}
