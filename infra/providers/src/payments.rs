//! The payment provider: Stripe's payment intents and refunds, as far as an order needs them.
//!
//! | route | does |
//! |---|---|
//! | `POST /v1/payment_intents` | creates one (`amount`, `currency`, `confirm?`, `metadata[…]`) |
//! | `POST /v1/payment_intents/{id}/confirm` | charges the card |
//! | `POST /v1/payment_intents/{id}/cancel` | closes one that was not charged |
//! | `GET /v1/payment_intents/{id}`, `GET /v1/payment_intents` | reads one, or lists them, newest first |
//! | `POST /v1/refunds` | gives money back (`payment_intent`, `amount?`) |
//! | `GET /v1/refunds?payment_intent=` | lists refunds, newest first |
//!
//! A `POST` with an `Idempotency-Key` that was seen before gets the first answer again and has no second effect,
//! until the key is forgotten. That includes a declined card, as at Stripe: another try needs another key.
//!
//! A key that is not its customer's is 401, where it was told the customer's secret.
//!
//! Faults: [`Mode::Reject`] declines the card, so only a request that tries to charge one meets it and is counted;
//! the others go through. Every other fault meets any request. [`Mode::Error`] and [`Mode::Unavailable`] strike
//! before the endpoint runs, so nothing is kept under the key and a repetition can succeed.

mod book;
mod intent;
mod keys;
mod refusal;

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::Value;

use self::book::{Book, Card, Operation};
use self::keys::Keys;
use self::refusal::Refusal;
use crate::fault::{Mode, Target};
use crate::sent::{Outcome, PaymentCall, Sent};
use crate::{Providers, unanswered};

/// Form fields by name. Nested ones keep Stripe's spelling, `metadata[order_id]`.
type Form = BTreeMap<String, String>;

/// What the payment provider knows.
#[derive(Default)]
pub(crate) struct Payments {
    book: Book,
    keys: Keys,
    /// The name of the secret whose `key` is the customer's; any key will do without it.
    secret: Option<String>,
}

/// An answer as it goes over the wire, and as it is kept under its key.
#[derive(Clone)]
struct Reply {
    status: StatusCode,
    body: Value,
    replayed: bool,
}

/// What the client gets to see.
enum Seen {
    Reply(Reply),
    Nothing,
    Break,
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
    let shown = headers.get(AUTHORIZATION).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    match providers.pay(call, key, shown.as_deref()) {
        Seen::Reply(reply) => reply.into_response(),
        Seen::Nothing => unanswered::held().await,
        Seen::Break => unanswered::broken(),
    }
}

impl Providers {
    fn pay(&self, call: PaymentCall, key: Option<String>, authorization: Option<&str>) -> Seen {
        let mut desk = self.desk();
        let authorized = match (authorization, &desk.payments.secret) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(shown), Some(secret)) => {
                let secret = self.secrets.current(secret).unwrap_or_default();
                let secret = serde_json::from_str::<Value>(&secret).unwrap_or_default();
                shown.strip_prefix("Bearer ").is_some_and(|shown| secret["key"] == shown)
            }
        };
        let mode = desk.faults.mode(Target::Payment);
        let (seen, outcome) = if authorized {
            desk.payments.meet(mode, &call, key.as_deref())
        } else {
            answered(Refusal::Unauthorized.into())
        };
        let declined = matches!(&seen, Seen::Reply(reply) if reply.is_fresh_decline());
        if authorized && (mode != Mode::Reject || declined) {
            desk.faults.count(Target::Payment);
        }
        desk.sent.push(Sent {
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
        seen
    }
}

impl Payments {
    pub(crate) fn forget_idempotency_keys(&mut self) {
        self.keys = Keys::default();
    }

    pub(crate) fn know_secret(&mut self, name: &str) {
        self.secret = Some(name.to_owned());
    }

    fn meet(&mut self, mode: Mode, call: &PaymentCall, key: Option<&str>) -> (Seen, Outcome) {
        match mode {
            Mode::Ok => answered(self.perform(call, key, Card::Good)),
            Mode::Reject => answered(self.perform(call, key, Card::Declined)),
            Mode::Error => (Seen::Reply(Refusal::Internal.into()), Outcome::Error),
            Mode::Unavailable => (Seen::Reply(Refusal::RateLimited.into()), Outcome::Unavailable),
            Mode::Timeout => (Seen::Nothing, Outcome::TimedOut),
            Mode::DropAnswer => match answered(self.perform(call, key, Card::Good)) {
                (_, Outcome::Accepted) => (Seen::Break, Outcome::AnswerDropped),
                // Replayed or refused: nothing was done this time, so the record must not count it as an effect.
                (_, outcome) => (Seen::Break, outcome),
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
        let reply = match self.book.perform(operation, &call.form, card, now) {
            Ok(body) => Reply { status: StatusCode::OK, body, replayed: false },
            Err(refusal) if refusal.is_before_execution() => return refusal.into(),
            Err(refusal) => refusal.into(),
        };
        if let Some(key) = key {
            self.keys.keep(key, call, &reply);
        }
        reply
    }
}

fn answered(reply: Reply) -> (Seen, Outcome) {
    let outcome = match reply.status {
        _ if reply.replayed => Outcome::Replayed,
        StatusCode::OK => Outcome::Accepted,
        _ => Outcome::Rejected,
    };
    (Seen::Reply(reply), outcome)
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
