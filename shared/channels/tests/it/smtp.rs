//! SMTP, against the mail server of the harness.

use aws_types::SdkConfig;
use channels::{Outgoing, Provider, SendError, email::Smtp};
use harness::mail::{Identity as Files, MailOptions, MailServer, Tls};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::{Clock, ClosedPort, IMPATIENT, PATIENT, aws, email, outgoing, secret, settings, unsubscribe, with_html};

/// For a mail that must have arrived before nobody answers: many mail servers start at the same time.
const SLOW: &str = "4s";

/// A server that takes every mail as it comes.
pub(crate) fn plain(server: &MailServer, limit: &str) -> Provider {
    smtp(limit, &[("BELFRY_SMTP_URL", &format!("smtp://127.0.0.1:{}?tls=none", server.port()))])
}

fn smtp(limit: &str, more: &[(&str, &str)]) -> Provider {
    let mut values = vec![("BELFRY_EMAIL_FROM", "Così <bell@belfry.test>")];
    values.extend(more);
    Provider::Smtp(Smtp::from_settings(&settings(limit, &values), &aws()).unwrap())
}

fn mail_to(name: &str) -> Outgoing {
    outgoing(email(&format!("{name}@example.test")))
}

#[tokio::test]
async fn a_mail_has_both_parts_and_is_unsubscribed_from_with_one_click() {
    let mut server = MailServer::start().await;
    let receipt = plain(&server, PATIENT).send(&with_html(mail_to("ada"))).await.unwrap();
    assert_eq!(receipt.provider, "smtp");

    let mail = server.mail().await;
    assert_eq!(mail["to"][0], "ada@example.test");
    assert_eq!(mail["sender"], "bell@belfry.test");
    assert_eq!(mail["text"], "At eight, così come sempre");
    assert_eq!(mail["html"], "<p>At eight</p>");
    let headers = &mail["headers"];
    assert_eq!(headers["From"], "Così <bell@belfry.test>");
    assert_eq!(headers["Subject"], "Your table");
    assert_eq!(headers["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");
    let link = format!("\r\nList-Unsubscribe: <{}>\r\n", unsubscribe());
    assert!(mail["raw"].as_str().unwrap().contains(&link), "in one piece: {}", mail["raw"]);
    assert_eq!(headers["Message-ID"].as_str(), receipt.message_id.as_deref());
}

#[tokio::test]
async fn the_same_message_has_the_same_message_id() {
    let server = MailServer::start().await;
    let smtp = plain(&server, PATIENT);
    let (first, again) = (smtp.send(&mail_to("ada")).await.unwrap(), smtp.send(&mail_to("ada")).await.unwrap());
    assert_eq!(first, again);
    let mut other = mail_to("ada");
    other.idempotency_key = "notification-2#CHANNEL".to_owned();
    assert_ne!(first, smtp.send(&other).await.unwrap());
}

#[tokio::test]
async fn a_title_cannot_add_a_header() {
    let mut server = MailServer::start().await;
    let mut mail = mail_to("ada");
    mail.message.title = "Your table\r\nBcc: eve@example.test".to_owned();
    plain(&server, PATIENT).send(&mail).await.unwrap();
    let mail = server.mail().await;
    assert_eq!(mail["headers"]["Subject"], "Your table Bcc: eve@example.test");
    assert!(mail["headers"]["Bcc"].is_null());
}

#[tokio::test]
async fn an_address_beyond_ascii_arrives() {
    let mut server = MailServer::start().await;
    plain(&server, PATIENT).send(&mail_to("ü")).await.unwrap();
    assert_eq!(server.mail().await["to"][0], "ü@example.test");
}

#[tokio::test]
async fn reply_is_classified_by_step_and_codes() {
    let server = MailServer::start().await;
    let smtp = plain(&server, PATIENT);
    for (name, expected) in [
        ("nobody", "address is dead: 550 5.1.1 to RCPT"),
        ("unwanted", "refused: 550 5.7.1 to RCPT"),
        ("full", "failed: 452 4.2.2 to RCPT"),
        ("leaving", "unavailable: 421 4.3.2 to RCPT"),
        ("picky", "refused: 554 5.6.0 to the message"),
        ("grey", "failed: 451 4.7.1 to the message"),
        ("tired", "unavailable: 421 4.3.2 to the message"),
    ] {
        let error = smtp.send(&mail_to(name)).await.unwrap_err();
        assert_eq!(error.to_string(), expected, "{name}");
    }
}

#[tokio::test]
async fn silence_is_unavailable_before_the_mail_and_unknown_after_it() {
    let mut server = MailServer::start().await;
    let deaf = plain(&server, IMPATIENT).send(&mail_to("deaf")).await.unwrap_err();
    assert_eq!(deaf.to_string(), "unavailable: no answer within the time limit");
    for (name, expected) in [
        ("silent", "outcome unknown: no answer within the time limit"),
        ("cut", "outcome unknown: connection closed before the answer"),
    ] {
        let error = plain(&server, SLOW).send(&mail_to(name)).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(server.mail().await["to"][0], format!("{name}@example.test"));
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_spoken_to_is_unavailable() {
    let closed = ClosedPort::new();
    let url = closed.url.replace("http", "smtp") + "?tls=none";
    let error = smtp(PATIENT, &[("BELFRY_SMTP_URL", &url)]).send(&mail_to("ada")).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: cannot connect");

    let busy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}?tls=none", busy.local_addr().unwrap());
    let answer = tokio::spawn(async move {
        let (mut client, _) = busy.accept().await.unwrap();
        client.write_all(b"554 5.3.2 not today\r\n").await.unwrap();
        client
    });
    let error = smtp(PATIENT, &[("BELFRY_SMTP_URL", &url)]).send(&mail_to("ada")).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: 554 5.3.2 to the connection");
    answer.await.unwrap();
}

/// A server that takes mail only from `belfry` with this password.
fn knowing(password: &str) -> MailOptions {
    MailOptions { login: Some(("belfry".to_owned(), password.to_owned())), ..MailOptions::default() }
}

fn login(password: &str) -> String {
    json!({"username": "belfry", "password": password}).to_string()
}

/// Name and password are the secret `smtp`.
fn with_secret(url: &str, aws: &SdkConfig) -> Provider {
    let from = ("BELFRY_EMAIL_FROM", "bell@belfry.test");
    let values = [from, ("BELFRY_SMTP_URL", url), ("BELFRY_SMTP_SECRET", "smtp")];
    Provider::Smtp(Smtp::from_settings(&settings(PATIENT, &values), aws).unwrap())
}

#[tokio::test]
async fn a_new_password_is_used_in_the_send_whose_login_was_refused() {
    let mut server = MailServer::with(knowing("new")).await;
    let url = format!("smtp://127.0.0.1:{}?tls=none", server.port());
    let (secrets, aws) = secret("smtp", &login("old"));
    let clock = Clock::default();
    let smtp = with_secret(&url, &clock.of(aws));
    let refused = "unavailable: 535 5.7.8 to AUTH";
    assert_eq!(smtp.send(&mail_to("ada")).await.unwrap_err().to_string(), refused);
    secrets.put("smtp", login("new"));
    // The secret was fetched for the refusal before, a moment ago.
    assert_eq!(smtp.send(&mail_to("ada")).await.unwrap_err().to_string(), refused);
    clock.advance(10);
    smtp.send(&mail_to("ada")).await.unwrap();
    assert_eq!(server.mail().await["login"], "belfry");
}

#[tokio::test]
async fn a_server_knows_us_by_name_and_password() {
    let mut server = MailServer::with(knowing("right")).await;
    let url = format!("smtp://127.0.0.1:{}?tls=none", server.port());
    let with = |password: &str| {
        let (_, aws) = secret("smtp", &login(password));
        with_secret(&url, &aws)
    };
    with("right").send(&mail_to("ada")).await.unwrap();
    assert_eq!(server.mail().await["login"], "belfry");
    let error = with("wrong").send(&mail_to("ada")).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: 535 5.7.8 to AUTH");
    let error = plain(&server, PATIENT).send(&mail_to("ada")).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: 530 5.7.0 to MAIL");
}

/// A certificate for the loopback, as text and in files.
struct Identity {
    pem: String,
    folder: TempDir,
}

impl Identity {
    fn new() -> Self {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("certificate"), cert.pem()).unwrap();
        std::fs::write(folder.path().join("key"), signing_key.serialize_pem()).unwrap();
        Self { pem: cert.pem(), folder }
    }

    fn files(&self) -> Files {
        let file = |name| self.folder.path().join(name).into_os_string().into_string().unwrap();
        Files { certificate: file("certificate"), key: file("key") }
    }
}

#[tokio::test]
async fn a_mail_goes_encrypted_to_a_server_that_is_trusted_and_to_no_other() {
    type Encryption = fn(Files) -> Tls;
    let encryptions: [(Encryption, &str); 2] = [(Tls::FromTheStart, "smtps"), (Tls::StartTls, "smtp")];
    for (tls, scheme) in encryptions {
        let identity = Identity::new();
        let mut server = MailServer::with(MailOptions { tls: tls(identity.files()), login: None }).await;
        let url = format!("{scheme}://127.0.0.1:{}", server.port());
        let trusting = smtp(PATIENT, &[("BELFRY_SMTP_URL", &url), ("BELFRY_SMTP_ROOT_CERTIFICATE", &identity.pem)]);
        trusting.send(&mail_to("ada")).await.unwrap();
        assert_eq!(server.mail().await["tls"], true);

        let error = smtp(PATIENT, &[("BELFRY_SMTP_URL", &url)]).send(&mail_to("ada")).await.unwrap_err();
        assert!(matches!(error, SendError::Unavailable { .. }), "{scheme}: {error}");
    }
}

#[tokio::test]
async fn a_server_without_starttls_gets_nothing() {
    let server = MailServer::start().await;
    let smtp = smtp(PATIENT, &[("BELFRY_SMTP_URL", &format!("smtp://127.0.0.1:{}", server.port()))]);
    let error = smtp.send(&mail_to("ada")).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: server does not offer STARTTLS");
}
