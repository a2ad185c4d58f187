//! SES v2: `SendEmail` with simple content, one request.
//!
//! SES takes mail for addresses on its suppression list and reports the bounce later, by event. So no answer to this
//! call condemns an address.

use aws_sdk_sesv2::operation::send_email::SendEmailError;
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message, MessageHeader};
use aws_sdk_sesv2::{Client, config};
use aws_types::SdkConfig;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::message::Mailbox;
use outside::{endpoint, time_limit};
use runtime::{BadSetting, Pool, Settings};

use crate::aws::{self, Departure};
use crate::{Address, NotSent, Outgoing, Reason};

/// SES v2.
pub struct Ses {
    client: Client,
    from: String,
    configuration_set: Option<String>,
}

impl Ses {
    /// The name in receipts.
    pub const NAME: &str = "ses";

    /// `BELFRY_EMAIL_FROM`, `BELFRY_SES_CONFIGURATION_SET` if there is one, `BELFRY_SES_ENDPOINT_URL` if it is not
    /// AWS's.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let from = encoded(&super::sender(settings)?);
        let configuration_set = settings.optional("BELFRY_SES_CONFIGURATION_SET");
        let mut config = config::Builder::from(aws)
            .retry_config(aws::never_again())
            .timeout_config(aws::within(time_limit(settings)?))
            .stalled_stream_protection(aws::no_other_limit())
            .http_client(runtime::http_client(settings, Pool::None)?);
        if let Some(url) = endpoint(settings, "BELFRY_SES_ENDPOINT_URL")? {
            config = config.endpoint_url(url);
        }
        Ok(Self { client: Client::from_conf(config.build()), from, configuration_set })
    }

    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Option<String>, NotSent> {
        let Address::Email(to) = &outgoing.to else {
            return Err(Reason::word("not an e-mail address").refused());
        };
        let departure = Departure::default();
        let sent = self
            .client
            .send_email()
            .from_email_address(&self.from)
            .destination(Destination::builder().to_addresses(to.as_str()).build())
            .content(content(outgoing).ok_or(Reason::word("a request that cannot be made").refused())?)
            .set_configuration_set_name(self.configuration_set.clone())
            .customize()
            .interceptor(departure.clone())
            .send()
            .await;
        match sent {
            Ok(sent) => Ok(sent.message_id),
            Err(error) => Err(aws::sorted(error, &departure, sorted)),
        }
    }
}

/// SES wants a sender's name in ASCII, encoded by us (RFC 2047).
fn encoded(from: &Mailbox) -> String {
    match &from.name {
        Some(name) if !name.is_ascii() => format!("=?UTF-8?B?{}?= <{}>", STANDARD.encode(name), from.email),
        _ => from.to_string(),
    }
}

/// `None` if a part lacks what its builder demands; all of them have it.
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

/// What the service's own errors mean; `None` for those that every AWS service has.
fn sorted(error: &SendEmailError, status: u16) -> Option<NotSent> {
    let reason = |word| Reason::http(status, Some(word));
    Some(match error {
        SendEmailError::TooManyRequestsException(_) => reason("TooManyRequestsException").unavailable(),
        SendEmailError::LimitExceededException(_) => reason("LimitExceededException").unavailable(),
        // Our account, our domain or our configuration set: no mail goes out before an operator has mended it.
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
