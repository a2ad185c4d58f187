//! The providers through the clients that the functions use in production. Each test starts its own on a free port.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod email;
mod payments;
mod push;
mod secrets;
mod slack;
mod sms;

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sesv2::error::{ProvideErrorMetadata, SdkError};
use providers::{Fault, Mode, Outcome, Providers, Target};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Far below the 30 s for which a provider holds its answer, yet enough for a request to arrive on a busy machine.
const IMPATIENT: Duration = Duration::from_secs(1);

/// Far above what an answer on loopback takes.
const PATIENT: Duration = Duration::from_secs(20);

/// Listening providers. They stop when this is dropped with the test's runtime.
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

/// Sets each fault for one message, sends two, and compares what the client sees with `expected` and the record with the
/// fault.
async fn assert_faults(target: Target, send: impl AsyncFn(&Stage, Duration) -> String, expected: [(Mode, &str); 5]) {
    for (mode, seen) in expected {
        let stage = Stage::start().await;
        stage.fault(target, mode, 1);
        let (timeout, outcome) = match mode {
            Mode::Ok => unreachable!("no fault"),
            Mode::Error => (PATIENT, Outcome::Error),
            Mode::Reject => (PATIENT, Outcome::Rejected),
            Mode::Unavailable => (PATIENT, Outcome::Unavailable),
            Mode::Timeout => (IMPATIENT, Outcome::TimedOut),
            Mode::DropAnswer => (PATIENT, Outcome::AnswerDropped),
        };
        assert_eq!(send(&stage, timeout).await, seen, "{mode:?}");
        assert_eq!(send(&stage, PATIENT).await, "200", "after {mode:?}");
        assert_eq!(stage.outcomes(target), [outcome, Outcome::Accepted], "{mode:?}");
    }
}

/// The result of an AWS call in short: status and code, or how the answer was lost.
fn seen_by_sdk<T, E: ProvideErrorMetadata + std::fmt::Debug>(result: Result<T, SdkError<E>>) -> String {
    match result {
        Ok(_) => "200".to_owned(),
        Err(SdkError::TimeoutError(_)) => "timeout".to_owned(),
        Err(SdkError::DispatchFailure(failure)) if !failure.is_timeout() => "broken connection".to_owned(),
        Err(error) => {
            let status = error.raw_response().map(|answer| answer.status().as_u16()).unwrap();
            format!("{status} {}", error.code().unwrap())
        }
    }
}

/// The result of an HTTP call in short. `code` finds the provider's code in the body.
async fn seen_by_http(result: reqwest::Result<reqwest::Response>, code: impl Fn(&str) -> String) -> String {
    let answer = match result {
        Ok(answer) => answer,
        Err(error) if error.is_timeout() => return "timeout".to_owned(),
        Err(error) if is_broken_connection(&error) => return "broken connection".to_owned(),
        Err(error) => panic!("{error:?}"),
    };
    if answer.status() == 200 {
        return "200".to_owned();
    }
    let retry_after = answer.headers().get("retry-after").map(|seconds| seconds.to_str().unwrap().to_owned());
    let retry_after = retry_after.map_or_else(String::new, |seconds| format!(", retry after {seconds} s"));
    format!("{} {}{retry_after}", answer.status().as_u16(), code(&answer.text().await.unwrap()))
}

/// Returns a client with a TLS provider that it never uses: reqwest requires one where another crate has enabled TLS.
fn http(timeout: Duration) -> reqwest::Client {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(tls).timeout(timeout).build().unwrap()
}

/// The connection broke after the request was sent: neither refused, nor timed out, nor an answer cut short.
fn is_broken_connection(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}

/// An AWS client for the stage. Each SDK has configuration types of its own.
macro_rules! aws_client {
    ($sdk:ident, $stage:expr, $timeout:expr) => {{
        use aws_smithy_http_client::Builder;
        use $sdk::config::retry::RetryConfig;
        use $sdk::config::timeout::TimeoutConfig;
        use $sdk::config::{BehaviorVersion, Config, Credentials, Region};
        $sdk::Client::from_conf(
            Config::builder()
                .behavior_version(BehaviorVersion::latest())
                .region(Region::new("eu-central-1"))
                .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
                .http_client(Builder::new().build_http())
                .endpoint_url(&$stage.url)
                // A retry by the SDK would meet a fault set for one request.
                .retry_config(RetryConfig::disabled())
                .timeout_config(TimeoutConfig::builder().operation_timeout($timeout).build())
                .build(),
        )
    }};
}
use aws_client;

#[tokio::test]
async fn sent_requests_are_kept_by_channel_in_order_of_arrival() {
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
async fn fault_without_count_lasts() {
    let stage = Stage::start().await;
    stage.fault(Target::Slack, Mode::Error, None);
    for _ in 0..2 {
        assert_eq!(slack::post(&stage, PATIENT, "hello").await.unwrap().status(), 500);
    }
}

#[tokio::test]
async fn held_answer_ends_when_its_client_disconnects() {
    let stage = Stage::start().await;
    stage.fault(Target::Slack, Mode::Timeout, None);
    slack::post(&stage, IMPATIENT, "hello").await.unwrap_err();
    // Stopping waits for open requests. One that is still held would outlast this.
    stage.stop.send(()).unwrap();
    let stopped = tokio::time::timeout(PATIENT, stage.server).await;
    stopped.expect("no request is open").unwrap().unwrap();
}

#[tokio::test]
async fn dropped_answer_sends_no_byte() {
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
