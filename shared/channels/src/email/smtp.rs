//! A mail server over SMTP, one connection for one mail.
//!
//! The dialogue is led step by step, because only that tells what is certain: whatever fails before the mail itself goes
//! over the wire has sent nothing, and a lost answer to the mail is unknown. A refusal of the addressee is told apart
//! from one of the content the same way.

mod reply;
mod server;

use std::time::Duration;

use aws_types::SdkConfig;
use lettre::Message;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::DEFAULT_MECHANISMS;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use outside::{connect_limit, time_limit};
use runtime::{BadSetting, Settings};
use tokio::time::{Instant, timeout_at};

use self::server::{Security, Server, Servers};
use crate::{Address, NotSent, Outgoing, Reason};

/// How long a server may take to say goodbye. The mail is sent by then, so nobody should wait for it.
const GOODBYE: Duration = Duration::from_secs(1);

/// A mail server.
pub struct Smtp {
    servers: Servers,
    from: Mailbox,
    hello: ClientId,
    limit: Duration,
}

/// There is no connection that mails can be sent on.
struct NotSignedIn {
    not_sent: NotSent,
    /// The server does not know the name, or the password is another one.
    is_of_login: bool,
}

impl From<NotSent> for NotSignedIn {
    fn from(not_sent: NotSent) -> Self {
        Self { not_sent, is_of_login: false }
    }
}

impl Smtp {
    /// The name in receipts.
    pub const NAME: &str = "smtp";

    /// `BELFRY_EMAIL_FROM`, `BELFRY_SMTP_URL`, and `BELFRY_SMTP_SECRET` where the server wants a name and a password.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let from = super::sender(settings)?;
        let hello = ClientId::Domain(from.email.domain().to_owned());
        Ok(Self { servers: Servers::from_settings(settings, aws)?, from, hello, limit: time_limit(settings)? })
    }

    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Option<String>, NotSent> {
        let Address::Email(to) = &outgoing.to else {
            return Err(Reason::word("not an e-mail address").refused());
        };
        let to = to.as_str().parse::<lettre::Address>();
        let to = to.map_err(|_| Reason::word("an address that SMTP cannot carry").refused())?;
        let message_id = format!("<{}@{}>", outgoing.stable_id(), self.from.email.domain());
        let mail = self.mail(&to, &message_id, &outgoing.message);
        let mail = mail.map_err(|_| Reason::word("a mail that cannot be made").refused())?.formatted();

        let deadline = Instant::now() + self.limit;
        let announced = timeout_at(deadline, async {
            let mut connection = self.signed_in().await?;
            self.announce(&mut connection, to).await?;
            Ok(connection)
        });
        let mut connection = announced.await.unwrap_or(Err(Reason::word("no answer in time").unavailable()))?;
        match timeout_at(deadline, connection.message(&mail)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(reply::to_mail(&error)),
            Err(_) => return Err(Reason::word("no answer in time").unknown()),
        }
        // Taken over. Whether the server hears our goodbye changes nothing.
        timeout_at(deadline.min(Instant::now() + GOODBYE), connection.quit()).await.ok();
        Ok(Some(message_id))
    }

    /// Signs in; once more where the server does not know us and the secret has changed.
    async fn signed_in(&self) -> Result<AsyncSmtpConnection, NotSent> {
        let server = self.servers.current().await;
        let server = server.map_err(|_| Reason::word("its secret is not available").unavailable())?;
        let refused = match self.sign_in(&server).await {
            Err(refused) if refused.is_of_login => refused.not_sent,
            end => return end.map_err(|refused| refused.not_sent),
        };
        match self.servers.replacement(&server).await {
            Some(fresh) => self.sign_in(&fresh).await.map_err(|refused| refused.not_sent),
            None => Err(refused),
        }
    }

    async fn sign_in(&self, server: &Server) -> Result<AsyncSmtpConnection, NotSignedIn> {
        let Server { host, port, security, credentials } = server;
        let from_the_start = match security {
            Security::Tls(tls) => Some(tls.clone()),
            Security::StartTls(_) | Security::None => None,
        };
        let connect = connect_limit(self.limit);
        let at = (host.as_str(), *port);
        let connection = AsyncSmtpConnection::connect_tokio1(at, Some(connect), &self.hello, from_the_start, None);
        let mut connection = connection.await.map_err(|error| reply::to_sign_in(&error, "the connection"))?;
        if let Security::StartTls(tls) = security {
            if !connection.can_starttls() {
                return Err(Reason::word("the server offers no STARTTLS").unavailable().into());
            }
            let started = connection.starttls(tls.clone(), &self.hello).await;
            started.map_err(|error| reply::to_sign_in(&error, "STARTTLS"))?;
        }
        if let Some(credentials) = credentials {
            let signed_in = connection.auth(DEFAULT_MECHANISMS, credentials).await;
            signed_in.map_err(|error| NotSignedIn {
                not_sent: reply::to_sign_in(&error, "AUTH"),
                is_of_login: reply::is_permanent(&error),
            })?;
        }
        Ok(connection)
    }

    /// Sender, addressee, and leave to send the mail itself.
    async fn announce(&self, connection: &mut AsyncSmtpConnection, to: lettre::Address) -> Result<(), NotSent> {
        let mut parameters = Vec::new();
        if !to.to_string().is_ascii() {
            if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
                return Err(Reason::word("the server takes no international addresses").refused());
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        let sender = Mail::new(Some(self.from.email.clone()), parameters);
        connection.command(sender).await.map_err(|error| reply::to_sender(&error))?;
        connection.command(Rcpt::new(to, Vec::new())).await.map_err(|error| reply::to_addressee(&error))?;
        connection.command(Data).await.map_err(|error| reply::to_data(&error))?;
        Ok(())
    }

    fn mail(
        &self,
        to: &lettre::Address,
        message_id: &str,
        message: &crate::Message,
    ) -> Result<Message, lettre::error::Error> {
        let mut mail = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to.clone()))
            .subject(message.title_line())
            .message_id(Some(message_id.to_owned()));
        for (name, value) in message.list_unsubscribe.iter().flat_map(super::one_click) {
            // As it is: it is ASCII, and a URL that is folded or encoded is one that some program does not find.
            let name = HeaderName::new_from_ascii_str(name);
            mail = mail.raw_header(HeaderValue::dangerous_new_pre_encoded(name, value.clone(), value));
        }
        match &message.html {
            Some(html) => mail.multipart(MultiPart::alternative_plain_html(message.body.clone(), html.clone())),
            None => mail.singlepart(SinglePart::plain(message.body.clone())),
        }
    }
}
