//! Renders an event notification for one recipient and one channel.

use std::sync::Arc;

use aws_types::SdkConfig;
use channels::{Message, Url};
use domain::notification::{EventNotification, Text};
use domain::recipient::{Channel, Recipient};
use domain::unsubscribe::UnsubscribeKey;
use runtime::secrets::{self, Unavailable};
use runtime::{BadSetting, Secret, Settings};
use texts::{Mail, Reader, RenderError, Texts};

/// The base URL of unsubscribe links, and the secret that signs them.
pub struct UnsubscribeLinks {
    base: Url,
    secret: Secret<UnsubscribeKey>,
}

/// Signs unsubscribe links.
pub struct SignedLinks<'a> {
    base: &'a Url,
    key: Arc<UnsubscribeKey>,
}

impl UnsubscribeLinks {
    /// `BELFRY_PUBLIC_URL`, where the API answers, and `BELFRY_UNSUBSCRIBE_SECRET`.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let base = settings.text("BELFRY_PUBLIC_URL")?;
        let url = Url::parse(&format!("{}/", base.trim_end_matches('/'))).map_err(|_| BadSetting::Wrong {
            name: "BELFRY_PUBLIC_URL".to_owned(),
            expected: "the URL of the API".to_owned(),
            value: base,
        })?;
        Ok(Self { base: url, secret: secrets::unsubscribe(settings, aws)? })
    }

    /// With the current version of the secret.
    pub async fn signed(&self) -> Result<SignedLinks<'_>, Unavailable> {
        Ok(SignedLinks { base: &self.base, key: self.secret.current().await? })
    }
}

impl SignedLinks<'_> {
    fn link(&self, recipient: &Recipient) -> Option<Url> {
        let signed = self.key.sign(recipient.user_type, &recipient.user_id);
        self.base.join(&format!("v1/unsubscribe/{signed}")).ok()
    }
}

/// Renders for one recipient.
pub fn render(
    texts: &Texts,
    channel: Channel,
    notification: &EventNotification,
    recipient: &Recipient,
    links: Option<&SignedLinks<'_>>,
) -> Result<Message, RenderError> {
    let reader = Reader::from(&recipient.details);
    let (event_type, audience, properties) =
        (notification.event_type.as_str(), notification.audience, &notification.properties);
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
