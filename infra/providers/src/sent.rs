//! The record of what the providers got (the local host's `GET /local/sent`).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::fault::Target;

/// One request, as its provider understood it, and what the provider did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sent {
    /// When it arrived.
    pub at: Timestamp,
    /// Which provider got it.
    pub channel: Target,
    /// The address: mailbox, phone number, push token, or the webhook's path.
    pub to: Option<String>,
    /// Subject of a mail or title of a push message.
    pub subject: Option<String>,
    /// The text. For a raw mail, the whole MIME message.
    pub body: Option<String>,
    /// The key under which the provider knows a repetition. Only the payment provider takes one.
    pub idempotency_key: Option<String>,
    /// What the provider did.
    pub outcome: Outcome,
    /// What only a mail has.
    #[serde(flatten)]
    pub email: Option<EmailParts>,
    /// What only a payment has.
    #[serde(flatten)]
    pub payment: Option<PaymentCall>,
}

/// What the provider did with a request. Those with an effect are `accepted` and `answer_dropped`, and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Done and answered.
    Accepted,
    /// Known by its idempotency key: the first answer again, no second effect.
    Replayed,
    /// Failed inside, nothing done.
    Error,
    /// Refused for good.
    Rejected,
    /// Throttled or out of reach, nothing done.
    Unavailable,
    /// Never answered, nothing done.
    TimedOut,
    /// Done, but the answer never left.
    AnswerDropped,
}

/// The parts of a mail beyond subject and text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EmailParts {
    /// The HTML part.
    pub html: Option<String>,
    /// Headers that the sender added, such as `List-Unsubscribe`.
    pub headers: BTreeMap<String, String>,
}

/// A payment request as it came over the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PaymentCall {
    /// `GET` or `POST`.
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// The form fields; of a `GET`, the query.
    pub form: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(channel: Target) -> Sent {
        Sent {
            at: Timestamp::UNIX_EPOCH,
            channel,
            to: None,
            subject: None,
            body: None,
            idempotency_key: None,
            outcome: Outcome::AnswerDropped,
            email: None,
            payment: None,
        }
    }

    #[test]
    fn what_a_channel_does_not_have_is_null() {
        assert_eq!(
            json!(sent(Target::Sms)),
            json!({
                "at": "1970-01-01T00:00:00Z", "channel": "SMS", "to": null, "subject": null, "body": null,
                "idempotency_key": null, "outcome": "answer_dropped",
            })
        );
    }

    #[test]
    fn a_payment_shows_method_path_and_form_beside_the_rest() {
        let call = PaymentCall {
            method: "POST".into(),
            path: "/v1/refunds".into(),
            form: BTreeMap::from([("payment_intent".into(), "pi_1".into())]),
        };
        let shown = json!(Sent { payment: Some(call), ..sent(Target::Payment) });
        assert_eq!(shown["method"], "POST");
        assert_eq!(shown["path"], "/v1/refunds");
        assert_eq!(shown["form"]["payment_intent"], "pi_1");
    }
}
