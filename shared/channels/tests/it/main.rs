//! Each provider's client against the stand-ins, an SMTP server, and small servers for answers that those do not give.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod connections;
mod fcm;
mod sealed;
mod ses;
mod settings;
mod slack;
mod sms;
mod smtp;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use aws_sdk_sesv2::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use aws_smithy_async::time::TimeSource;
use aws_types::SdkConfig;
use axum::Router;
use channels::{Address, Message, Outgoing, Provider, Receipt, SendError};
use providers::{Fault, Mode, Outcome, Providers, Secrets, Target};
use runtime::Settings;
use tokio::net::{TcpListener, TcpSocket};

/// The stand-ins, listening on a port.
struct Stage {
    providers: Providers,
    url: String,
}

impl Stage {
    async fn start() -> Self {
        let providers = Providers::new();
        let url = serve(providers.router()).await;
        Self { providers, url }
    }

    /// Returns a provider's error under a fault, and the number of requests it made.
    async fn send_under(&self, mode: Mode, provider: &Provider, outgoing: &Outgoing) -> (SendError, usize) {
        let target = match outgoing.to {
            Address::Email(_) => Target::Email,
            Address::Phone(_) => Target::Sms,
            Address::PushToken(_) => Target::Push,
            Address::SlackWebhook(_) => Target::Slack,
        };
        let before = self.providers.sent(Some(target)).len();
        self.providers.set_fault(Fault { target, mode, times: None });
        let error = provider.send(outgoing).await.unwrap_err();
        (error, self.providers.sent(Some(target)).len() - before)
    }

    /// Checks the errors of the three faults that differ between providers, and of the two that do not. Each takes one
    /// request. `retry_after` is the provider's with [`Mode::Unavailable`].
    async fn assert_errors(
        &self,
        provider: impl Fn(&'static str) -> Provider,
        outgoing: &Outgoing,
        [error, reject, unavailable]: [&str; 3],
        retry_after: Option<u64>,
    ) {
        for (mode, limit, expected) in [
            (Mode::Error, PATIENT, error),
            (Mode::Reject, PATIENT, reject),
            (Mode::Unavailable, PATIENT, unavailable),
            (Mode::Timeout, IMPATIENT, "outcome unknown: no answer within the time limit"),
            (Mode::DropAnswer, PATIENT, "outcome unknown: connection closed before the answer"),
        ] {
            let (error, requests) = self.send_under(mode, &provider(limit), outgoing).await;
            assert_eq!((error.to_string().as_str(), requests), (expected, 1), "{mode:?}");
            if let SendError::Unavailable { retry_after: seconds, .. } = error {
                assert_eq!(seconds, retry_after.map(Duration::from_secs));
            }
        }
    }

    fn accepted(&self, target: Target) -> providers::Sent {
        let sent = self.providers.sent(Some(target)).remove(0);
        assert_eq!(sent.outcome, Outcome::Accepted);
        sent
    }
}

/// Serves on a free port for as long as the test's runtime lives.
async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async { axum::serve(listener, router).await });
    url
}

/// A port without a listener, which no other process gets.
struct ClosedPort {
    url: String,
    _bound: TcpSocket,
}

impl ClosedPort {
    fn new() -> Self {
        let bound = TcpSocket::new_v4().unwrap();
        bound.bind(([127, 0, 0, 1], 0).into()).unwrap();
        Self { url: format!("http://{}", bound.local_addr().unwrap()), _bound: bound }
    }
}

/// Far above what an answer on the loopback takes.
const PATIENT: &str = "20s";

/// For answers that do not come. Enough for a request to arrive on a busy machine.
const IMPATIENT: &str = "1s";

fn settings(limit: &str, values: &[(&str, &str)]) -> Settings {
    let limit = ("BELFRY_PROVIDER_TIME_LIMIT", limit);
    std::iter::once(&limit).chain(values).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn aws() -> SdkConfig {
    let credentials = Credentials::new("key", "secret", None, None, "test");
    without_credentials().into_builder().credentials_provider(SharedCredentialsProvider::new(credentials)).build()
}

fn without_credentials() -> SdkConfig {
    SdkConfig::builder().behavior_version(BehaviorVersion::latest()).region(Region::new("eu-central-1")).build()
}

/// A secret and a configuration that finds it.
fn secret(name: &str, value: &str) -> (Secrets, SdkConfig) {
    let secrets = Secrets::default();
    secrets.put(name, value);
    let aws = secrets.sdk_config();
    (secrets, aws)
}

/// A clock that advances on request only.
#[derive(Debug, Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn of(&self, aws: SdkConfig) -> SdkConfig {
        aws.into_builder().time_source(self.clone()).build()
    }

    fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl TimeSource for Clock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + self.0.load(Ordering::Relaxed))
    }
}

fn outgoing(to: Address) -> Outgoing {
    let message = Message {
        title: "Your table".to_owned(),
        body: "At eight, così come sempre".to_owned(),
        html: None,
        list_unsubscribe: None,
    };
    Outgoing { idempotency_key: "notification-1#CHANNEL".to_owned(), to, message }
}

fn with_html(mut outgoing: Outgoing) -> Outgoing {
    outgoing.message.html = Some("<p>At eight</p>".to_owned());
    outgoing.message.list_unsubscribe = Some(unsubscribe().parse().unwrap());
    outgoing
}

/// As long as a signed link.
fn unsubscribe() -> String {
    format!("https://belfry.test/v1/unsubscribe/{}", "0123456789abcdef".repeat(10))
}

fn email(text: &str) -> Address {
    Address::Email(text.to_owned().try_into().unwrap())
}

fn phone() -> Address {
    Address::Phone("+4915112345678".to_owned().try_into().unwrap())
}

fn device() -> Address {
    Address::PushToken("device-token-1".to_owned().try_into().unwrap())
}

fn webhook(server: &str) -> Address {
    Address::SlackWebhook(format!("{server}/services/T1/B2/secret").try_into().unwrap())
}

/// The kind of the result, for tables.
fn kind(result: &Result<Receipt, SendError>) -> &'static str {
    match result {
        Ok(_) => "sent",
        Err(SendError::Failed { .. }) => "failed",
        Err(SendError::Unavailable { .. }) => "unavailable",
        Err(SendError::Refused { .. }) => "refused",
        Err(SendError::AddressDead { .. }) => "address dead",
        Err(SendError::Unknown { .. }) => "unknown",
    }
}
