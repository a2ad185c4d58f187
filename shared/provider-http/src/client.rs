//! The HTTP client for providers.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::connect_limit;

/// No provider's answer is this long; the rest of a longer one is not read.
const MAX_BODY: usize = 64 * 1024;

/// Returns a client that follows no redirect (it would carry the request to another host), retries nothing and keeps no
/// connection open. Each request sets its own time limit.
///
/// # Panics
///
/// Panics if reqwest does not accept this version of rustls. Every test would show that.
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

/// Trusts the root certificates compiled into the binary. Reading and parsing the system's would take longer than the
/// rest of a function's cold start.
fn tls() -> ClientConfig {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the ciphers of the safe versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Reads the body as far as it arrives. A broken connection is no error here, because the status already says what
/// matters most.
pub async fn read_body(mut answer: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BODY {
            break;
        }
    }
    body
}
