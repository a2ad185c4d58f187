//! What the provider answered: an object, or why not.

use serde::Deserialize;

use crate::{NotDone, Reason, words};

/// An answer that will not be another one for being asked again.
#[derive(Debug)]
pub(crate) enum Answer {
    Done(Object),
    Not(u16, Failure),
}

/// An intent or a refund, as far as we look at it.
#[derive(Debug, Deserialize)]
pub(crate) struct Object {
    #[serde(default)]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) status: String,
    last_payment_error: Option<Failure>,
}

/// Why not; of an intent, why its last charge failed.
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

/// Where an intent stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    Succeeded,
    Cancelled,
    Declined(&'static str),
    Open(&'static str),
}

impl Answer {
    pub(crate) fn read(status: u16, body: &[u8]) -> Result<Self, NotDone> {
        if let 200..=299 = status {
            // Done, it seems. Under its key, the same is said again.
            let unreadable = NotDone::Transient(Reason::http(status, Some("an answer that cannot be read")));
            return serde_json::from_slice(body).map(Self::Done).map_err(|_| unreadable);
        }
        let failure = serde_json::from_slice::<Body>(body).unwrap_or_default().error;
        match status {
            // In order: too slow, busy with the same key, failed behind the provider, too often.
            408 | 409 | 424 | 429 | 500..=599 => Err(NotDone::Transient(failure.reason(status))),
            400..=499 => Ok(Self::Not(status, failure)),
            _ => Err(NotDone::Refused(Reason::http(status, None))),
        }
    }
}

impl Object {
    pub(crate) fn state(&self) -> State {
        match (self.status.as_str(), &self.last_payment_error) {
            ("succeeded", _) => State::Succeeded,
            ("canceled", _) => State::Cancelled,
            ("requires_payment_method", Some(failure)) => State::Declined(failure.decline()),
            (status, _) => State::Open(words::open(status)),
        }
    }
}

impl Failure {
    pub(crate) fn is_of_the_card(&self) -> bool {
        self.r#type.as_deref() == Some("card_error")
    }

    pub(crate) fn is_unexpected_state(&self) -> bool {
        self.code.as_deref() == Some("payment_intent_unexpected_state")
    }

    pub(crate) fn is_already_refunded(&self) -> bool {
        self.code.as_deref() == Some("charge_already_refunded")
    }

    /// The intent as it stood when it was refused.
    pub(crate) fn state(&self) -> Option<State> {
        self.payment_intent.as_ref().map(|intent| intent.state())
    }

    pub(crate) fn decline(&self) -> &'static str {
        words::decline(self.decline_code.as_deref().unwrap_or_default(), self.code.as_deref().unwrap_or_default())
    }

    pub(crate) fn reason(&self, status: u16) -> Reason {
        let (code, kind) = (self.code.as_deref().unwrap_or_default(), self.r#type.as_deref().unwrap_or_default());
        Reason::http(status, words::code(code, kind))
    }
}

impl State {
    /// Whether nothing can change it any more. Any other may have been told from memory, under its key.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Cancelled)
    }
}
