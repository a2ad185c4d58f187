//! What is said: an event notification, rendered for one recipient and one channel.

use channels::{Message, Url};
use domain::notification::{EventNotification, Text};
use domain::recipient::{Channel, Recipient};
use domain::unsubscribe::UnsubscribeKey;
use runtime::{BadSetting, Settings};
use texts::{Mail, Reader, RenderError, Texts};

/// How links to unsubscribe with are made.
pub struct UnsubscribeLinks {
    base: Url,
    key: UnsubscribeKey,
}

impl UnsubscribeLinks {
    /// `BELFRY_PUBLIC_URL`, where the API answers, and `BELFRY_UNSUBSCRIBE_KEY`.
    pub fn from_settings(settings: &Settings) -> Result<Self, BadSetting> {
        let base = settings.text("BELFRY_PUBLIC_URL")?;
        let url = Url::parse(&format!("{}/", base.trim_end_matches('/'))).map_err(|_| BadSetting::Wrong {
            name: "BELFRY_PUBLIC_URL".to_owned(),
            expected: "the URL of the API".to_owned(),
            value: base,
        })?;
        Ok(Self { base: url, key: settings.unsubscribe_key()? })
    }

    fn link(&self, recipient: &Recipient) -> Option<Url> {
        let signed = self.key.sign(recipient.user_type, &recipient.user_id);
        self.base.join(&format!("v1/unsubscribe/{signed}")).ok()
    }
}

/// Renders for one recipient.
pub fn render(
    texts: &Texts,
    channel: Channel,
    told: &EventNotification,
    recipient: &Recipient,
    links: Option<&UnsubscribeLinks>,
) -> Result<Message, RenderError> {
    let reader = Reader::from(&recipient.details);
    let (event_type, audience, properties) = (told.event_type.as_str(), told.audience, &told.properties);
    let plain = |title: String, body: String| Message { title, body, html: None, list_unsubscribe: None };
    Ok(match channel {
        Channel::Email => {
            let Mail { subject, text, html } = texts.email(event_type, audience, &reader, properties)?;
            let list_unsubscribe = links.and_then(|links| links.link(recipient));
            Message { title: subject, body: text, html: Some(html), list_unsubscribe }
        }
        Channel::Push => {
            let Text { title, body } = texts.push(event_type, audience, &reader, properties)?;
            plain(title, body)
        }
        Channel::Sms => plain(String::new(), texts.sms(event_type, audience, &reader, properties)?),
        Channel::Slack | Channel::Websocket => {
            plain(String::new(), texts.slack(event_type, audience, &reader, properties)?)
        }
    })
}
