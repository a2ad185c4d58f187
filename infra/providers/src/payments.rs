//! The payment provider: the part of Stripe's payment intents and refunds that orders use.
//!
//! | route | does |
//! |---|---|
//! | `POST /v1/payment_intents` | creates one (`amount`, `currency`, `metadata[…]`) |
//! | `POST /v1/payment_intents/{id}/confirm` | charges the card |
//! | `POST /v1/payment_intents/{id}/cancel` | cancels one that was not charged |
//! | `GET /v1/payment_intents/{id}`, `GET /v1/payment_intents` | returns one, or lists them, newest first |
//! | `POST /v1/refunds` | refunds the whole charge (`payment_intent`) |
//! | `GET /v1/refunds` | lists refunds, newest first |
//!
//! A repeated `POST` with the same `Idempotency-Key` returns the stored answer and has no second effect, until the key is
//! forgotten. As at Stripe, that includes a declined card: another attempt needs another key.
//!
//! Once [`Providers::know_payment_secret`] names a secret, any other API key is answered 401.
//!
//! Faults: [`Mode::Reject`] declines the card. It applies to charges only, and only they count. Every other fault applies
//! to all requests. [`Mode::Error`] and [`Mode::Unavailable`] fail before the endpoint runs, so nothing is stored under the
//! key and a repetition can succeed.

mod intent;
mod keys;
mod refusal;
mod store;

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::Value;

use self::keys::Keys;
use self::refusal::Refusal;
use self::store::{Card, Operation, Store};
use crate::fault::{Mode, Target};
use crate::sent::{Outcome, PaymentCall, Sent};
use crate::{Providers, lost_answer};

/// Form fields by name; nested ones as Stripe spells them, `metadata[order_id]`.
type Form = BTreeMap<String, String>;

/// The payment provider's state.
#[derive(Default)]
pub(crate) struct Payments {
    store: Store,
    keys: Keys,
    /// The name of the secret with the API key. Without it, any API key is accepted.
    secret: Option<String>,
}

/// An answer, as sent and as stored under its key.
#[derive(Clone)]
struct Reply {
    status: StatusCode,
    body: Value,
    replayed: bool,
}

/// What the client receives.
enum ClientView {
    Reply(Reply),
    Held,
    Dropped,
}

pub(crate) async fn call(
    State(providers): State<Providers>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let form = match method {
        Method::GET => uri.query().unwrap_or_default().as_bytes(),
        _ => body.as_ref(),
    };
    let call = PaymentCall {
        method: method.to_string(),
        path: uri.path().to_owned(),
        form: form_urlencoded::parse(form).into_owned().collect(),
    };
    let key = headers.get("idempotency-key").map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
    let authorization = headers.get(AUTHORIZATION).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    match providers.pay(call, key, authorization.as_deref()) {
        ClientView::Reply(reply) => reply.into_response(),
        ClientView::Held => lost_answer::hold().await,
        ClientView::Dropped => lost_answer::drop_connection(),
    }
}

impl Providers {
    fn pay(&self, call: PaymentCall, key: Option<String>, authorization: Option<&str>) -> ClientView {
        let mut state = self.state();
        let authorized = match (authorization, &state.payments.secret) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(header), Some(secret)) => {
                let secret = self.secrets.current(secret).unwrap_or_default();
                let secret = serde_json::from_str::<Value>(&secret).unwrap_or_default();
                header.strip_prefix("Bearer ").is_some_and(|key| secret["key"] == key)
            }
        };
        let mode = state.faults.mode(Target::Payment);
        let (view, outcome) = if authorized {
            state.payments.respond(mode, &call, key.as_deref())
        } else {
            answered(Refusal::Unauthorized.into())
        };
        let declined = matches!(&view, ClientView::Reply(reply) if reply.is_fresh_decline());
        if authorized && (mode != Mode::Reject || declined) {
            state.faults.count(Target::Payment);
        }
        state.sent.push(Sent {
            at: Timestamp::now(),
            channel: Target::Payment,
            to: None,
            subject: None,
            body: None,
            idempotency_key: key,
            outcome,
            email: None,
            payment: Some(call),
        });
        view
    }
}

impl Payments {
    pub(crate) fn forget_idempotency_keys(&mut self) {
        self.keys = Keys::default();
    }

    pub(crate) fn know_secret(&mut self, name: &str) {
        self.secret = Some(name.to_owned());
    }

    fn respond(&mut self, mode: Mode, call: &PaymentCall, key: Option<&str>) -> (ClientView, Outcome) {
        match mode {
            Mode::Ok => answered(self.perform(call, key, Card::Good)),
            Mode::Reject => answered(self.perform(call, key, Card::Declined)),
            Mode::Error => (ClientView::Reply(Refusal::Internal.into()), Outcome::Error),
            Mode::Unavailable => (ClientView::Reply(Refusal::RateLimited.into()), Outcome::Unavailable),
            Mode::Timeout => (ClientView::Held, Outcome::TimedOut),
            Mode::DropAnswer => match answered(self.perform(call, key, Card::Good)) {
                (_, Outcome::Accepted) => (ClientView::Dropped, Outcome::AnswerDropped),
                // Replayed or refused: this request had no effect, and the record must not say so.
                (_, outcome) => (ClientView::Dropped, outcome),
            },
        }
    }

    fn perform(&mut self, call: &PaymentCall, key: Option<&str>, card: Card) -> Reply {
        let Some(operation) = Operation::parse(call) else {
            return Refusal::UnknownUrl.into();
        };
        let key = key.filter(|_| operation.is_write());
        if let Some(known) = key.and_then(|key| self.keys.replay(key, call)) {
            return known;
        }
        let now = Timestamp::now();
        let reply = match self.store.perform(operation, &call.form, card, now) {
            Ok(body) => Reply { status: StatusCode::OK, body, replayed: false },
            Err(refusal) if refusal.is_before_execution() => return refusal.into(),
            Err(refusal) => refusal.into(),
        };
        if let Some(key) = key {
            self.keys.store(key, call, &reply);
        }
        reply
    }
}

fn answered(reply: Reply) -> (ClientView, Outcome) {
    let outcome = match reply.status {
        _ if reply.replayed => Outcome::Replayed,
        StatusCode::OK => Outcome::Accepted,
        _ => Outcome::Rejected,
    };
    (ClientView::Reply(reply), outcome)
}

impl Reply {
    fn is_fresh_decline(&self) -> bool {
        self.status == StatusCode::PAYMENT_REQUIRED && !self.replayed
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self { status: refusal.status(), body: refusal.into_body(), replayed: false }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        let headers = response.headers_mut();
        if self.replayed {
            headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
        }
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
