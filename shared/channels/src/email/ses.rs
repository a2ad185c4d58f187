//! SES v2: `SendEmail` with simple content, one request.
//!
//! SES accepts mail for addresses on its suppression list and reports the bounce later, as an event. So no answer to this
//! call is [`SendError::AddressDead`].

use aws_sdk_sesv2::Client;
use aws_sdk_sesv2::operation::send_email::SendEmailError;
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message, MessageHeader};
use aws_types::SdkConfig;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::message::Mailbox;
use runtime::{BadSetting, Settings};

use crate::aws::{self, Transmission};
use crate::{Address, Outgoing, Reason, SendError};

/// SES v2.
pub struct Ses {
    client: Client,
    from: String,
    configuration_set: Option<String>,
}

impl Ses {
    /// The name in receipts and logs.
    pub const NAME: &str = "ses";

    /// Reads `BELFRY_EMAIL_FROM`, and optionally `BELFRY_SES_CONFIGURATION_SET` and `BELFRY_SES_ENDPOINT_URL`.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let from = encoded(&super::sender(settings)?);
        let configuration_set = settings.optional("BELFRY_SES_CONFIGURATION_SET");
        let client = Client::new(&aws::client_config(settings, aws, "BELFRY_SES_ENDPOINT_URL")?);
        Ok(Self { client, from, configuration_set })
    }

    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Option<String>, SendError> {
        let Address::Email(to) = &outgoing.to else {
            return Err(Reason::text("address is not an e-mail address").refused());
        };
        let transmission = Transmission::default();
        let sent = self
            .client
            .send_email()
            .from_email_address(&self.from)
            .destination(Destination::builder().to_addresses(to.as_str()).build())
            .content(content(outgoing).ok_or(Reason::text("cannot build the request").refused())?)
            .set_configuration_set_name(self.configuration_set.clone())
            .customize()
            .interceptor(transmission.clone())
            .send()
            .await;
        match sent {
            Ok(sent) => Ok(sent.message_id),
            Err(error) => Err(aws::classify(error, &transmission, classify)),
        }
    }
}

/// Encodes the sender's name (RFC 2047), which SES requires to be ASCII.
fn encoded(from: &Mailbox) -> String {
    match &from.name {
        Some(name) if !name.is_ascii() => format!("=?UTF-8?B?{}?= <{}>", STANDARD.encode(name), from.email),
        _ => from.to_string(),
    }
}

/// Builds the mail. `None` if a part lacks a required field, which none does.
fn content(outgoing: &Outgoing) -> Option<EmailContent> {
    let part = |text: &str| Content::builder().charset("UTF-8").data(text).build().ok();
    let message = &outgoing.message;
    let html = match &message.html {
        Some(html) => Some(part(html)?),
        None => None,
    };
    let mut mail = Message::builder()
        .subject(part(&message.title_line())?)
        .body(Body::builder().text(part(&message.body)?).set_html(html).build());
    for (name, value) in message.list_unsubscribe.iter().flat_map(super::one_click) {
        mail = mail.headers(MessageHeader::builder().name(name).value(value).build().ok()?);
    }
    Some(EmailContent::builder().simple(mail.build()).build())
}

/// Classifies the service's own errors; `None` for those that every AWS service has.
fn classify(error: &SendEmailError, status: u16) -> Option<SendError> {
    let reason = |word| Reason::http(status, Some(word));
    Some(match error {
        SendEmailError::TooManyRequestsException(_) => reason("TooManyRequestsException").unavailable(),
        SendEmailError::LimitExceededException(_) => reason("LimitExceededException").unavailable(),
        // Our account, domain or configuration set: no mail is sent until an operator has acted.
        SendEmailError::AccountSuspendedException(_) => reason("AccountSuspendedException").unavailable(),
        SendEmailError::SendingPausedException(_) => reason("SendingPausedException").unavailable(),
        SendEmailError::MailFromDomainNotVerifiedException(_) => {
            reason("MailFromDomainNotVerifiedException").unavailable()
        }
        SendEmailError::NotFoundException(_) => reason("NotFoundException").unavailable(),
        SendEmailError::MessageRejected(_) => reason("MessageRejected").refused(),
        SendEmailError::BadRequestException(_) => reason("BadRequestException").refused(),
        _ => return None,
    })
}
