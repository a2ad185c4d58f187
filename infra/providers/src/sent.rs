//! The record of requests (the local host's `GET /local/sent`).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::fault::Target;

/// One request, as its provider parsed it, and the outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sent {
    /// The time of arrival.
    pub at: Timestamp,
    /// The provider.
    pub channel: Target,
    /// The address: mailbox, phone number, push token or webhook path.
    pub to: Option<String>,
    /// The subject of a mail or the title of a push message.
    pub subject: Option<String>,
    /// The plain text.
    pub body: Option<String>,
    /// The idempotency key, which only the payment provider takes.
    pub idempotency_key: Option<String>,
    /// What the provider did.
    pub outcome: Outcome,
    /// Present for a mail.
    #[serde(flatten)]
    pub email: Option<EmailParts>,
    /// Present for a payment.
    #[serde(flatten)]
    pub payment: Option<PaymentCall>,
}

/// What the provider did with a request. Only `accepted` and `answer_dropped` had an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Had its effect and was answered.
    Accepted,
    /// Repeated an idempotency key: the first answer, no second effect.
    Replayed,
    /// Failed with 500, no effect.
    Error,
    /// Refused for good.
    Rejected,
    /// Throttled, no effect.
    Unavailable,
    /// Not answered, no effect.
    TimedOut,
    /// Had its effect; the connection was closed without an answer.
    AnswerDropped,
}

/// The parts of a mail besides subject and text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EmailParts {
    /// The HTML part.
    pub html: Option<String>,
    /// Headers added by the sender, such as `List-Unsubscribe`.
    pub headers: BTreeMap<String, String>,
}

/// A payment request as received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PaymentCall {
    /// `GET` or `POST`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The form fields, or the query of a `GET`.
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
    fn fields_a_channel_does_not_have_are_null() {
        assert_eq!(
            json!(sent(Target::Sms)),
            json!({
                "at": "1970-01-01T00:00:00Z", "channel": "SMS", "to": null, "subject": null, "body": null,
                "idempotency_key": null, "outcome": "answer_dropped",
            })
        );
    }

    #[test]
    fn payment_has_method_path_and_form() {
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
