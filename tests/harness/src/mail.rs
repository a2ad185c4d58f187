//! A mail server that takes mail like any other, and misbehaves for some addressees: one in this process, or aiosmtpd for
//! comparison.

mod mime;
mod session;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

/// Names the command that runs Python with aiosmtpd. Unset, the mail server is in this process.
const SECOND: &str = "BELFRY_TEST_MAIL_SERVER";

/// What a mail server demands of its clients.
#[derive(Debug, Clone, Default)]
pub struct MailOptions {
    /// How its connections are encrypted.
    pub tls: Tls,
    /// The name and password without which it takes no mail.
    pub login: Option<(String, String)>,
}

/// How a mail server's connections are encrypted, and the files of its certificate and key, in PEM.
#[derive(Debug, Clone, Default)]
pub enum Tls {
    /// They are not.
    #[default]
    Off,
    /// From the first byte on.
    FromTheStart(Identity),
    /// Once a client has asked for it.
    StartTls(Identity),
}

/// Paths of a certificate and its key.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate's file.
    pub certificate: String,
    /// The key's file.
    pub key: String,
}

/// A running mail server; it ends with this value.
#[derive(Debug)]
pub struct MailServer {
    port: u16,
    mails: UnboundedReceiver<Value>,
    running: Running,
}

#[derive(Debug)]
enum Running {
    Here(JoinHandle<()>),
    Second { _process: Child },
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Here(task) = self {
            task.abort();
        }
    }
}

impl MailServer {
    /// Starts one that takes mail from anybody, without encryption.
    pub async fn start() -> Self {
        Self::with(MailOptions::default()).await
    }

    /// Starts one with these demands.
    pub async fn with(options: MailOptions) -> Self {
        let (sender, mails) = unbounded_channel();
        let (port, running) = match std::env::var(SECOND) {
            Ok(command) => second(&command, &options, sender).await,
            Err(_) => here(options, sender).await,
        };
        Self { port, mails, running }
    }

    /// Where it listens on the loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The next mail that it takes: `to`, `sender`, `headers`, `text`, `html`, `raw`, `tls` and `login`.
    pub async fn mail(&mut self) -> Value {
        self.mails.recv().await.expect("a mail")
    }

    /// Stops it; gives back every mail that it took and nobody asked for.
    pub async fn stop(self) -> Vec<Value> {
        let Self { mut mails, running, .. } = self;
        drop(running);
        let mut taken = Vec::new();
        while let Some(mail) = mails.recv().await {
            taken.push(mail);
        }
        taken
    }
}

async fn here(options: MailOptions, mails: UnboundedSender<Value>) -> (u16, Running) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let (from_the_start, starttls) = match &options.tls {
        Tls::Off => (None, None),
        Tls::FromTheStart(identity) => (Some(acceptor(identity)), None),
        Tls::StartTls(identity) => (None, Some(acceptor(identity))),
    };
    let server = Arc::new(session::Server { starttls, login: options.login, mails });
    let accept = async move {
        let mut sessions = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (server, tls) = (Arc::clone(&server), from_the_start.clone());
            // A client that goes away in the middle is no concern of the server's.
            sessions.spawn(async move {
                let _ = match tls {
                    None => session::plain(&server, stream).await,
                    Some(tls) => session::encrypted(&server, &tls, stream).await,
                };
            });
        }
    };
    (port, Running::Here(tokio::spawn(accept)))
}

fn acceptor(identity: &Identity) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_file(&identity.certificate).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(&identity.key).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the ciphers of the safe versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("the key is the certificate's");
    TlsAcceptor::from(Arc::new(config))
}

async fn second(command: &str, options: &MailOptions, mails: UnboundedSender<Value>) -> (u16, Running) {
    let mut server = Command::new(command);
    server.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("mail_server.py"));
    let (name, identity) = match &options.tls {
        Tls::Off => ("", None),
        Tls::FromTheStart(identity) => ("from-the-start", Some(identity)),
        Tls::StartTls(identity) => ("starttls", Some(identity)),
    };
    if let Some(Identity { certificate, key }) = identity {
        server.args(["--tls", name, "--certificate", certificate, "--key", key]);
    }
    if let Some((name, password)) = &options.login {
        server.args(["--login", name, password]);
    }
    server.stdout(Stdio::piped()).kill_on_drop(true);
    let mut process = server.spawn().unwrap_or_else(|error| panic!("{SECOND}: {error}"));
    let mut printed = BufReader::new(process.stdout.take().expect("its output")).lines();
    let port = printed.next_line().await.expect("its output").expect("the mail server's port");
    tokio::spawn(async move {
        while let Ok(Some(line)) = printed.next_line().await {
            let _ = mails.send(serde_json::from_str(&line).expect("a mail"));
        }
    });
    (port.parse().expect("a port"), Running::Second { _process: process })
}
