//! The message to send, and the receipt.

use domain::recipient::{Email, Phone, PushToken, WebhookUrl};
use reqwest::Url;
use uuid::Uuid;

/// One rendered message to one address. It has no `Debug`, because none of it may be logged.
#[derive(Clone)]
pub struct Outgoing {
    /// The same in every attempt to send this message to this address, and in no other.
    pub idempotency_key: String,
    /// The address.
    pub to: Address,
    /// The rendered message.
    pub message: Message,
}

/// An address; each channel has its own kind.
#[derive(Clone)]
pub enum Address {
    /// A mailbox, for EMAIL.
    Email(Email),
    /// A phone, for SMS.
    Phone(Phone),
    /// One installation of the app, for PUSH.
    PushToken(PushToken),
    /// A Slack webhook, which is both address and secret.
    SlackWebhook(WebhookUrl),
}

/// A rendered message, escaped for its channel.
#[derive(Clone)]
pub struct Message {
    /// The subject of a mail, the title of a push message, the first line on Slack. SMS has none.
    pub title: String,
    /// The plain text.
    pub body: String,
    /// The HTML part of a mail.
    pub html: Option<String>,
    /// The URL of a mail's one-click unsubscribe header (RFC 8058).
    pub list_unsubscribe: Option<Url>,
}

/// Proof that a provider accepted the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The provider's name.
    pub provider: &'static str,
    /// The provider's id of the message, if it returns one.
    pub message_id: Option<String>,
}

impl Outgoing {
    /// Returns a short id derived from the key, for places that limit length or characters.
    pub(crate) fn stable_id(&self) -> Uuid {
        Uuid::new_v5(&Uuid::NAMESPACE_OID, self.idempotency_key.as_bytes())
    }
}

impl Message {
    /// Returns the title as one line, so that it cannot add a header.
    pub(crate) fn title_line(&self) -> String {
        self.title.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}
