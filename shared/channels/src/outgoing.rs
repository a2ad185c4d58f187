//! What goes out, and what comes back when it went.

use domain::recipient::{Email, Phone, PushToken, WebhookUrl};
use reqwest::Url;
use uuid::Uuid;

/// One rendered message to one address. Has no `Debug`, because all of it is what a log must not have.
#[derive(Clone)]
pub struct Outgoing {
    /// The same in each attempt to send this message to this address, and for no other.
    pub idempotency_key: String,
    /// Where to.
    pub to: Address,
    /// What to say.
    pub message: Message,
}

/// Where a message goes; its kind is the channel's.
#[derive(Clone)]
pub enum Address {
    /// A mailbox.
    Email(Email),
    /// A phone, for SMS.
    Phone(Phone),
    /// One installation of the app.
    PushToken(PushToken),
    /// A Slack webhook, which is address and secret in one.
    SlackWebhook(WebhookUrl),
}

/// A rendered message, escaped for its channel.
#[derive(Clone)]
pub struct Message {
    /// Subject of a mail, title of a push message, first line on Slack; SMS has none.
    pub title: String,
    /// The plain text.
    pub body: String,
    /// The text as HTML; mail only.
    pub html: Option<String>,
    /// Where a mail program unsubscribes with one click (RFC 8058); mail only.
    pub list_unsubscribe: Option<Url>,
}

/// A provider has taken the message over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Which provider.
    pub provider: &'static str,
    /// The provider's own id of the message, where it gives one.
    pub message_id: Option<String>,
}

impl Outgoing {
    /// A short id derived from the key: fits where a key's length or characters would not.
    pub(crate) fn stable_id(&self) -> Uuid {
        Uuid::new_v5(&Uuid::NAMESPACE_OID, self.idempotency_key.as_bytes())
    }
}

impl Message {
    /// The title as one line: a subject must not have a second one.
    pub(crate) fn title_line(&self) -> String {
        self.title.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}
