//! Parsing of the provider's answers.

use serde::Deserialize;

use crate::{PaymentError, Reason, known_codes};

/// A final answer: a retry would return the same.
#[derive(Debug)]
pub(crate) enum Answer {
    Done(Object),
    Refused(u16, Failure),
}

/// The fields of an intent or a refund that this client uses.
#[derive(Debug, Deserialize)]
pub(crate) struct Object {
    #[serde(default)]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) status: String,
    last_payment_error: Option<Failure>,
}

/// An error object; in an intent, the reason its last charge failed.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Failure {
    r#type: Option<String>,
    code: Option<String>,
    decline_code: Option<String>,
    payment_intent: Option<Box<Object>>,
}

#[derive(Default, Deserialize)]
struct Body {
    error: Failure,
}

/// The state of an intent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IntentState {
    Succeeded,
    Cancelled,
    Declined(&'static str),
    Open(&'static str),
}

impl Answer {
    pub(crate) fn parse(status: u16, body: &[u8]) -> Result<Self, PaymentError> {
        if let 200..=299 = status {
            // Probably done. A retry under the same key returns the same answer.
            let unreadable = PaymentError::Transient(Reason::http(status, Some("cannot parse the answer")));
            return serde_json::from_slice(body).map(Self::Done).map_err(|_| unreadable);
        }
        let failure = serde_json::from_slice::<Body>(body).unwrap_or_default().error;
        match status {
            // In order: timeout, same key in progress, failed dependency, rate limit.
            408 | 409 | 424 | 429 | 500..=599 => Err(PaymentError::Transient(failure.reason(status))),
            400..=499 => Ok(Self::Refused(status, failure)),
            _ => Err(PaymentError::Refused(Reason::http(status, None))),
        }
    }
}

impl Object {
    pub(crate) fn state(&self) -> IntentState {
        match (self.status.as_str(), &self.last_payment_error) {
            ("succeeded", _) => IntentState::Succeeded,
            ("canceled", _) => IntentState::Cancelled,
            ("requires_payment_method", Some(failure)) => IntentState::Declined(failure.decline()),
            (status, _) => IntentState::Open(known_codes::open(status)),
        }
    }
}

impl Failure {
    pub(crate) fn is_card_error(&self) -> bool {
        self.r#type.as_deref() == Some("card_error")
    }

    pub(crate) fn is_unexpected_state(&self) -> bool {
        self.code.as_deref() == Some("payment_intent_unexpected_state")
    }

    pub(crate) fn is_already_refunded(&self) -> bool {
        self.code.as_deref() == Some("charge_already_refunded")
    }

    /// Returns the state of the intent in the error.
    pub(crate) fn state(&self) -> Option<IntentState> {
        self.payment_intent.as_ref().map(|intent| intent.state())
    }

    pub(crate) fn decline(&self) -> &'static str {
        known_codes::decline(self.decline_code.as_deref().unwrap_or_default(), self.code.as_deref().unwrap_or_default())
    }

    pub(crate) fn reason(&self, status: u16) -> Reason {
        let (code, kind) = (self.code.as_deref().unwrap_or_default(), self.r#type.as_deref().unwrap_or_default());
        Reason::http(status, known_codes::code(code, kind))
    }
}

impl IntentState {
    /// Returns whether the state is final. Any other may be outdated, because answers are stored under their keys.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Cancelled)
    }
}
