//! What a mail server says to one client.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Error, Result};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedSender;
use tokio_rustls::TlsAcceptor;

use super::mime;

/// Answers to `RCPT` for addressees of this name. As real servers do, they repeat the address.
const REFUSED_AT_RCPT: [(&str, &str); 4] = [
    ("nobody", "550 5.1.1 no such user:"),
    ("unwanted", "550 5.7.1 relaying denied for"),
    ("full", "452 4.2.2 mailbox full:"),
    ("leaving", "421 4.3.2 shutting down before"),
];

/// Answers to the whole mail.
const REFUSED_AFTER_DATA: [(&str, &str); 3] = [
    ("picky", "554 5.6.0 this is not liked by"),
    ("grey", "451 4.7.1 to be tried later:"),
    ("tired", "421 4.3.2 shutting down before"),
];

/// What all sessions of a server share.
pub struct Server {
    /// Encrypts a session whose client asks for it.
    pub starttls: Option<TlsAcceptor>,
    /// The name and password that a client must give.
    pub login: Option<(String, String)>,
    /// Who is told of mails.
    pub mails: UnboundedSender<Value>,
}

/// A mail, as far as the client has said it.
#[derive(Default)]
struct Envelope {
    sender: String,
    to: Vec<String>,
}

/// Why a session goes no further.
enum Ended {
    /// The client has gone, or has been cut off.
    Over,
    /// It asked for encryption.
    StartTls,
}

/// Serves a client that begins in plain text.
pub async fn plain(server: &Server, stream: TcpStream) -> Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 mail.test ESMTP\r\n").await?;
    if let Ended::StartTls = converse(server, &mut stream, false).await? {
        let tls = server.starttls.as_ref().ok_or_else(|| Error::other("STARTTLS is not offered"))?;
        let stream = tls.accept(stream.into_inner()).await?;
        converse(server, &mut BufReader::new(stream), true).await?;
    }
    Ok(())
}

/// Serves a client that is encrypted from the start.
pub async fn encrypted(server: &Server, tls: &TlsAcceptor, stream: TcpStream) -> Result<()> {
    let mut stream = BufReader::new(tls.accept(stream).await?);
    stream.write_all(b"220 mail.test ESMTP\r\n").await?;
    converse(server, &mut stream, true).await?;
    Ok(())
}

async fn converse(
    server: &Server,
    stream: &mut BufReader<impl AsyncRead + AsyncWrite + Unpin>,
    is_encrypted: bool,
) -> Result<Ended> {
    let mut login = None;
    let mut envelope = Envelope::default();
    loop {
        let Some(line) = line(stream).await? else { return Ok(Ended::Over) };
        let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let answer = match verb.to_ascii_uppercase().as_str() {
            "EHLO" => {
                let starttls = if server.starttls.is_some() && !is_encrypted { "250-STARTTLS\r\n" } else { "" };
                let auth = if server.login.is_some() { "250-AUTH PLAIN\r\n" } else { "" };
                format!("250-mail.test\r\n250-8BITMIME\r\n{starttls}{auth}250 SMTPUTF8")
            }
            "STARTTLS" if server.starttls.is_some() => {
                stream.write_all(b"220 go ahead\r\n").await?;
                return Ok(Ended::StartTls);
            }
            "AUTH" => match authenticated(server, rest) {
                Some(name) => {
                    login = Some(name);
                    "235 2.7.0 welcome".to_owned()
                }
                None => "535 5.7.8 wrong name or password".to_owned(),
            },
            "MAIL" if server.login.is_some() && login.is_none() => "530 5.7.0 who are you?".to_owned(),
            "MAIL" => {
                envelope = Envelope { sender: address(rest), to: Vec::new() };
                "250 2.1.0 go on".to_owned()
            }
            "RCPT" => {
                let to = address(rest);
                match (name(&to), answer_to(&to, &REFUSED_AT_RCPT)) {
                    ("deaf", _) => std::future::pending().await,
                    (_, Some(refusal)) => format!("{refusal} <{to}>"),
                    (_, None) => {
                        envelope.to.push(to);
                        "250 2.1.5 go on".to_owned()
                    }
                }
            }
            "DATA" => {
                stream.write_all(b"354 go ahead\r\n").await?;
                let Some(raw) = data(stream).await? else { return Ok(Ended::Over) };
                let first = envelope.to.first().map(String::as_str).unwrap_or_default();
                match answer_to(first, &REFUSED_AFTER_DATA) {
                    Some(refusal) => format!("{refusal} <{first}>"),
                    None => {
                        let mut mail = mime::shown(&raw);
                        mail["to"] = envelope.to.clone().into();
                        mail["sender"] = envelope.sender.clone().into();
                        mail["tls"] = is_encrypted.into();
                        mail["login"] = login.clone().into();
                        // Before the answer: whoever has it may look.
                        let _ = server.mails.send(mail);
                        match name(first) {
                            "silent" => std::future::pending().await,
                            "cut" => return Ok(Ended::Over),
                            _ => "250 2.0.0 taken".to_owned(),
                        }
                    }
                }
            }
            "QUIT" => {
                stream.write_all(b"221 2.0.0 bye\r\n").await?;
                return Ok(Ended::Over);
            }
            "RSET" | "NOOP" => "250 2.0.0 done".to_owned(),
            _ => "502 5.5.1 not known here".to_owned(),
        };
        stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
}

/// The name in a client's `AUTH PLAIN`, if it goes with its password.
fn authenticated(server: &Server, said: &str) -> Option<String> {
    let plain = BASE64_STANDARD.decode(said.strip_prefix("PLAIN ")?).ok()?;
    let plain = String::from_utf8(plain).ok()?;
    let mut parts = plain.split('\0').skip(1);
    let given = (parts.next()?.to_owned(), parts.next()?.to_owned());
    (server.login.as_ref() == Some(&given)).then_some(given.0)
}

/// What stands between the angle brackets of `FROM:<a@b> SMTPUTF8`.
fn address(said: &str) -> String {
    let inside = said.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    inside.map(|(address, _)| address).unwrap_or_default().to_owned()
}

fn name(address: &str) -> &str {
    address.split('@').next().unwrap_or_default()
}

fn answer_to(address: &str, answers: &[(&str, &'static str)]) -> Option<&'static str> {
    answers.iter().find(|(of, _)| *of == name(address)).map(|(_, answer)| *answer)
}

/// A line without its end; nothing once the client has gone.
async fn line(stream: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Option<String>> {
    let mut line = Vec::new();
    let read = stream.read_until(b'\n', &mut line).await?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()))
}

/// A mail up to the line that is a dot.
async fn data(stream: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Option<String>> {
    let mut raw = String::new();
    loop {
        let Some(line) = line(stream).await? else { return Ok(None) };
        if line == "." {
            return Ok(Some(raw));
        }
        raw.push_str(line.strip_prefix('.').unwrap_or(&line));
        raw.push_str("\r\n");
    }
}
