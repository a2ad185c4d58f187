//! Stand-ins for the outside providers, each in the provider's own wire shape: SES v2, the SMS API of AWS End
//! User Messaging, Firebase Cloud Messaging, Slack's incoming webhooks, Stripe's payment intents and refunds, and
//! Secrets Manager, which holds what the functions show to the others.
//!
//! The functions reach them with the same clients that they use in production, through those clients' endpoint
//! settings. So what is tested is the real request and the real reading of the answer, not a trait's idea of it.
//! Only the local host and tests use this crate; it must not reach a function's binary.
//!
//! The stand-ins keep in memory what they got ([`Providers::sent`]) and can be told to misbehave
//! ([`Providers::set_fault`]). They log nothing: everything they see is an address, a body or a token.

mod channel;
mod fault;
mod fcm;
mod payments;
mod secrets;
mod sent;
mod ses;
mod slack;
mod sms;
mod unanswered;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{any, post};
use tokio::net::TcpListener;

pub use fault::{Fault, Mode, Target};
pub use fcm::SERVICE_ACCOUNT_KEY;
pub use secrets::Secrets;
pub use sent::{EmailParts, Outcome, PaymentCall, Sent};

/// All providers behind one router. Clones share what was sent, the faults and the payments.
#[derive(Clone, Default)]
pub struct Providers {
    desk: Arc<Mutex<Desk>>,
    secrets: Secrets,
}

/// What the providers know. One lock over all of it: a request is counted against its fault, takes effect and is
/// recorded in one step, so the record is in the order in which the effects happened, whatever races outside.
#[derive(Default)]
struct Desk {
    sent: Vec<Sent>,
    faults: fault::Faults,
    payments: payments::Payments,
}

impl Providers {
    /// Providers that work, and have got nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every provider's routes. No two providers share a path, so one listener can stand in for all of them.
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

    /// Serves [`Providers::router`] until `shutdown` completes. Requests under way are answered first, which takes
    /// as long as [`Mode::Timeout`] may hold one if its client has more patience than that.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        axum::serve(listener, self.router()).with_graceful_shutdown(shutdown).await
    }

    /// What the providers got, on one channel or on all, in order of arrival. Requests that failed are among it.
    pub fn sent(&self, channel: Option<Target>) -> Vec<Sent> {
        self.desk().sent.iter().filter(|sent| channel.is_none_or(|channel| sent.channel == channel)).cloned().collect()
    }

    /// Makes a provider misbehave from the next request on. It replaces the fault that was set before.
    pub fn set_fault(&self, fault: Fault) {
        self.desk().faults.set(fault);
    }

    /// The faults in force, one for each provider that has one, and how often each still strikes.
    pub fn faults(&self) -> Vec<Fault> {
        self.desk().faults.in_force()
    }

    /// The secrets.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Makes the payment provider know its customer: from now on it takes only the current `key` of this secret.
    pub fn know_payment_secret(&self, name: &str) {
        self.desk().payments.know_secret(name);
    }

    /// Makes the payment provider forget every idempotency key, as it does after a day. Intents and refunds stay.
    pub fn forget_idempotency_keys(&self) {
        self.desk().payments.forget_idempotency_keys();
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        // A panic elsewhere must not make every later test request fail with an error that hides the first.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// AWS's services that have one path for all operations.
async fn aws_json(providers: State<Providers>, headers: HeaderMap, body: Bytes) -> Response {
    if headers.get("x-amz-target").is_some_and(|target| target == secrets::OPERATION) {
        return providers.secrets.get(&body);
    }
    sms::send_text_message(providers, headers, body).await
}
