//! An SMTP server, with a connection for each mail.
//!
//! Each command is sent by itself, because only the step that failed tells what is certain. Before the message itself is
//! transmitted, a failure has sent nothing. After that, a lost reply is [`SendError::Unknown`]. The step also tells a
//! refused recipient from refused content.

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
use provider_http::{connect_limit, time_limit};
use runtime::{BadSetting, Settings};
use tokio::time::{Instant, timeout_at};

use self::server::{Security, Server, Servers};
use crate::{Address, Outgoing, Reason, SendError};

/// The time limit for QUIT. The mail is sent by then.
const QUIT_LIMIT: Duration = Duration::from_secs(1);

/// An SMTP server.
pub struct Smtp {
    servers: Servers,
    from: Mailbox,
    hello: ClientId,
    limit: Duration,
}

/// Connecting or signing in failed.
struct SignInError {
    error: SendError,
    /// The server refused user name and password.
    login_refused: bool,
}

impl From<SendError> for SignInError {
    fn from(error: SendError) -> Self {
        Self { error, login_refused: false }
    }
}

impl Smtp {
    /// The name in receipts and logs.
    pub const NAME: &str = "smtp";

    /// Reads `BELFRY_EMAIL_FROM`, `BELFRY_SMTP_URL`, and `BELFRY_SMTP_SECRET` for servers that require a login.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let from = super::sender(settings)?;
        let hello = ClientId::Domain(from.email.domain().to_owned());
        Ok(Self { servers: Servers::from_settings(settings, aws)?, from, hello, limit: time_limit(settings)? })
    }

    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Option<String>, SendError> {
        let Address::Email(to) = &outgoing.to else {
            return Err(Reason::text("address is not an e-mail address").refused());
        };
        let to = to.as_str().parse::<lettre::Address>();
        let to = to.map_err(|_| Reason::text("address is not valid for SMTP").refused())?;
        let message_id = format!("<{}@{}>", outgoing.stable_id(), self.from.email.domain());
        let mail = self.mail(&to, &message_id, &outgoing.message);
        let mail = mail.map_err(|_| Reason::text("cannot build the message").refused())?.formatted();

        let deadline = Instant::now() + self.limit;
        let prepared = timeout_at(deadline, async {
            let mut connection = self.signed_in().await?;
            self.send_envelope(&mut connection, to).await?;
            Ok(connection)
        });
        let mut connection =
            prepared.await.unwrap_or(Err(Reason::text("no answer within the time limit").unavailable()))?;
        match timeout_at(deadline, connection.message(&mail)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(reply::to_mail(&error)),
            Err(_) => return Err(Reason::text("no answer within the time limit").unknown()),
        }
        // The server has accepted the mail; QUIT cannot change that.
        timeout_at(deadline.min(Instant::now() + QUIT_LIMIT), connection.quit()).await.ok();
        Ok(Some(message_id))
    }

    /// Signs in, and once more if the server refused the login and the secret has changed.
    async fn signed_in(&self) -> Result<AsyncSmtpConnection, SendError> {
        let server = self.servers.current().await;
        let server = server.map_err(|_| Reason::text("secret is not available").unavailable())?;
        let refused = match self.sign_in(&server).await {
            Err(refused) if refused.login_refused => refused.error,
            end => return end.map_err(|refused| refused.error),
        };
        match self.servers.replacement(&server).await {
            Some(fresh) => self.sign_in(&fresh).await.map_err(|refused| refused.error),
            None => Err(refused),
        }
    }

    async fn sign_in(&self, server: &Server) -> Result<AsyncSmtpConnection, SignInError> {
        let Server { host, port, security, credentials } = server;
        let implicit_tls = match security {
            Security::Tls(tls) => Some(tls.clone()),
            Security::StartTls(_) | Security::None => None,
        };
        let connect = connect_limit(self.limit);
        let at = (host.as_str(), *port);
        let connection = AsyncSmtpConnection::connect_tokio1(at, Some(connect), &self.hello, implicit_tls, None);
        let mut connection = connection.await.map_err(|error| reply::to_sign_in(&error, "the connection"))?;
        if let Security::StartTls(tls) = security {
            if !connection.can_starttls() {
                return Err(Reason::text("server does not offer STARTTLS").unavailable().into());
            }
            let started = connection.starttls(tls.clone(), &self.hello).await;
            started.map_err(|error| reply::to_sign_in(&error, "STARTTLS"))?;
        }
        if let Some(credentials) = credentials {
            let signed_in = connection.auth(DEFAULT_MECHANISMS, credentials).await;
            signed_in.map_err(|error| SignInError {
                error: reply::to_sign_in(&error, "AUTH"),
                login_refused: reply::is_permanent(&error),
            })?;
        }
        Ok(connection)
    }

    /// Sends MAIL, RCPT and DATA.
    async fn send_envelope(&self, connection: &mut AsyncSmtpConnection, to: lettre::Address) -> Result<(), SendError> {
        let mut parameters = Vec::new();
        if !to.to_string().is_ascii() {
            if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
                return Err(Reason::text("server does not support SMTPUTF8").refused());
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        let sender = Mail::new(Some(self.from.email.clone()), parameters);
        connection.command(sender).await.map_err(|error| reply::to_sender(&error))?;
        connection.command(Rcpt::new(to, Vec::new())).await.map_err(|error| reply::to_recipient(&error))?;
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
            // Not encoded: it is ASCII, and some mail programs do not recognise a folded or encoded URL.
            let name = HeaderName::new_from_ascii_str(name);
            mail = mail.raw_header(HeaderValue::dangerous_new_pre_encoded(name, value.clone(), value));
        }
        match &message.html {
            Some(html) => mail.multipart(MultiPart::alternative_plain_html(message.body.clone(), html.clone())),
            None => mail.singlepart(SinglePart::plain(message.body.clone())),
        }
    }
}
