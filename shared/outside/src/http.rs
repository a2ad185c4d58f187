//! HTTP as providers are spoken to.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::connect_limit;

/// More than any answer of a provider has; one that goes on longer is not read further.
const MOST_OF_AN_ANSWER: usize = 64 * 1024;

/// A client that follows no redirect (it would carry the request to somebody else), repeats nothing and keeps no
/// connection. Each request sets its own time limit.
///
/// Panics where the crates that it is made of do not fit each other, which every test would show.
pub fn client(limit: Duration) -> Client {
    Client::builder()
        .tls_backend_preconfigured(tls())
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0)
        .connect_timeout(connect_limit(limit))
        .build()
        .expect("a TLS backend that reqwest knows")
}

/// Trusts the roots that are compiled in: reading and parsing those of the system would take longer than all the rest of
/// a function's start.
fn tls() -> ClientConfig {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the ciphers of the safe versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
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
