//! Local stand-ins for outside providers: SES v2, AWS End User Messaging (SMS), Firebase Cloud Messaging, Slack's
//! incoming webhooks, Stripe's payment intents and refunds, and Secrets Manager.
//!
//! Each speaks its provider's wire protocol. The functions reach them with their production clients, through the
//! endpoint settings, so tests cover the real requests and the real parsing of answers. Only the local host and tests
//! use this crate; it must not reach a function's binary.
//!
//! The stand-ins record every request in memory ([`Providers::sent`]) and fail on request ([`Providers::set_fault`]).
//! They log nothing, because everything they receive is an address, a body or a token.

mod channel;
mod fault;
mod fcm;
mod lost_answer;
mod payments;
mod secrets;
mod sent;
mod ses;
mod slack;
mod sms;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{any, post};
use tokio::net::TcpListener;

pub use fault::{Fault, Mode, Target};
pub use fcm::SERVICE_ACCOUNT_KEY;
pub use secrets::Secrets;
pub use sent::{EmailParts, Outcome, PaymentCall, Sent};

/// All providers behind one router. Clones share their state.
#[derive(Clone, Default)]
pub struct Providers {
    state: Arc<Mutex<State>>,
    secrets: Secrets,
}

/// What the providers know, under one lock: a request is counted against its fault, takes effect and is recorded in one
/// step. So the record has the order of the effects, even when requests race.
#[derive(Default)]
struct State {
    sent: Vec<Sent>,
    faults: fault::Faults,
    payments: payments::Payments,
}

impl Providers {
    /// Returns providers without faults, requests or secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the routes of all providers. No two share a path, so one listener serves them all.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/v2/email/outbound-emails", post(ses::send_email))
            .route("/", post(aws_json))
            .route("/token", post(fcm::token))
            .route("/v1/projects/{project}/messages:send", post(fcm::send))
            .route("/services/{team}/{hook}/{secret}", post(slack::webhook))
            .route("/slack/{*webhook}", post(slack::webhook))
            .route("/v1/payment_intents", any(payments::call))
            .route("/v1/payment_intents/{*rest}", any(payments::call))
            .route("/v1/refunds", any(payments::call))
            .with_state(self.clone())
    }

    /// Serves [`Providers::router`] until `shutdown` completes. It waits for open requests, up to 30 s for one that
    /// [`Mode::Timeout`] holds.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        axum::serve(listener, self.router()).with_graceful_shutdown(shutdown).await
    }

    /// Returns all requests, or those of one provider, in order of arrival. Failed requests are included.
    pub fn sent(&self, channel: Option<Target>) -> Vec<Sent> {
        self.state().sent.iter().filter(|sent| channel.is_none_or(|channel| sent.channel == channel)).cloned().collect()
    }

    /// Sets a provider's fault from the next request on, in place of the one before.
    pub fn set_fault(&self, fault: Fault) {
        self.state().faults.set(fault);
    }

    /// Returns the faults in force, with the remaining number of requests.
    pub fn faults(&self) -> Vec<Fault> {
        self.state().faults.in_force()
    }

    /// Returns the secrets in Secrets Manager.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Makes the payment provider accept only the current `key` of this secret from now on.
    pub fn know_payment_secret(&self, name: &str) {
        self.state().payments.know_secret(name);
    }

    /// Makes the payment provider forget all idempotency keys, as Stripe does after a day. Intents and refunds stay.
    pub fn forget_idempotency_keys(&self) {
        self.state().payments.forget_idempotency_keys();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in one request must not fail all later ones and hide the first error.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// AWS services with one path for all operations.
async fn aws_json(providers: extract::State<Providers>, headers: HeaderMap, body: Bytes) -> Response {
    if headers.get("x-amz-target").is_some_and(|target| target == secrets::OPERATION) {
        return providers.secrets.get(&body);
    }
    sms::send_text_message(providers, headers, body).await
}
