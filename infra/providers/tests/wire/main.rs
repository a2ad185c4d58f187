//! The providers as real clients see them: each test starts its own on a free port and talks to it with the client
//! that the functions use in production.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod email;
mod payments;
mod push;
mod secrets;
mod slack;
mod sms;

use std::sync::Arc;
use std::time::Duration;

use providers::{Fault, Mode, Outcome, Providers, Target};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Far below the 30 s for which a provider holds its answer, yet enough for a request to arrive on a busy machine.
/// Only ever waited out against a provider that does hold its answer.
const IMPATIENT: Duration = Duration::from_secs(1);

/// Far above what an answer on the loopback takes.
const PATIENT: Duration = Duration::from_secs(20);

/// Providers that listen, and that stop when this is dropped with the test's runtime.
struct Stage {
    providers: Providers,
    url: String,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Stage {
    async fn start() -> Self {
        let providers = Providers::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            stopped.await.ok();
        };
        let server = tokio::spawn(providers.clone().serve(listener, stopped));
        Self { providers, url, stop, server }
    }

    fn fault(&self, target: Target, mode: Mode, times: impl Into<Option<u32>>) {
        self.providers.set_fault(Fault { target, mode, times: times.into() });
    }

    fn outcomes(&self, target: Target) -> Vec<Outcome> {
        let sent = self.providers.sent(Some(target));
        sent.into_iter().map(|sent| sent.outcome).collect()
    }
}

/// With a TLS provider that is never used: reqwest makes no client without one where other crates have turned TLS on.
fn http(timeout: Duration) -> reqwest::Client {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(tls).timeout(timeout).build().unwrap()
}

/// The connection broke after the request had gone out: neither refused, nor too slow, nor an answer cut short.
fn is_broken_connection(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}

#[tokio::test]
async fn what_was_sent_is_told_apart_by_channel_and_kept_in_order_of_arrival() {
    let stage = Stage::start().await;
    for text in ["one", "two"] {
        slack::post(&stage, PATIENT, text).await.unwrap();
    }
    sms::send(&stage, PATIENT, "three").await.unwrap();
    let bodies = |channel| {
        let sent = stage.providers.sent(channel);
        sent.into_iter().filter_map(|sent| sent.body).collect::<Vec<_>>()
    };
    assert_eq!(bodies(None), ["one", "two", "three"]);
    assert_eq!(bodies(Some(Target::Slack)), ["one", "two"]);
    assert!(bodies(Some(Target::Email)).is_empty());
}

#[tokio::test]
async fn a_held_answer_ends_when_its_client_hangs_up() {
    let stage = Stage::start().await;
    stage.fault(Target::Slack, Mode::Timeout, None);
    slack::post(&stage, IMPATIENT, "hello").await.unwrap_err();
    // Stopping waits for requests under way. One that was still held would outlast this.
    stage.stop.send(()).unwrap();
    let stopped = tokio::time::timeout(PATIENT, stage.server).await;
    stopped.expect("no request is under way any more").unwrap().unwrap();
}

#[tokio::test]
async fn a_dropped_answer_does_not_send_a_single_byte() {
    let stage = Stage::start().await;
    stage.fault(Target::Slack, Mode::DropAnswer, None);
    let address = stage.url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = "POST /services/T1/B2/secret HTTP/1.1\r\nHost: slack\r\nContent-Length: 12\r\n\r\n{\"text\":\"a\"}";
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(stage.outcomes(Target::Slack), [Outcome::AnswerDropped]);
}
