//! Which mail server, how the way there is protected, and who we are to it.

use std::sync::Arc;

use aws_types::SdkConfig;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, TlsParameters};
use outside::{is_loopback, wrong, wrong_secret};
use reqwest::Url;
use runtime::secrets::Unavailable;
use runtime::{BadSetting, Secret, Settings, is_local_host};
use serde::Deserialize;

const URL: &str = "BELFRY_SMTP_URL";
const SECRET: &str = "BELFRY_SMTP_SECRET";
const ROOT_CERTIFICATE: &str = "BELFRY_SMTP_ROOT_CERTIFICATE";

const SHAPE: &str = "smtps://host (TLS), smtp://host (STARTTLS), or smtp://127.0.0.1:port?tls=none, without user and \
                     password, which belong into the secret";

/// The mail server, as the settings or the secret name it.
pub(super) enum Servers {
    /// It asks nobody who they are.
    Open(Arc<Server>),
    /// It wants a name and a password.
    WithLogin(Box<Secret<Server>>),
}

#[derive(Clone)]
pub(super) struct Server {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) credentials: Option<Credentials>,
}

#[derive(Clone)]
pub(super) enum Security {
    /// From the first byte.
    Tls(TlsParameters),
    /// After a plain greeting, and never without.
    StartTls(TlsParameters),
    /// On the loopback only.
    None,
}

#[derive(Deserialize)]
struct Login {
    username: String,
    password: String,
    url: Option<String>,
}

impl Servers {
    pub(super) fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let root = root_certificate(settings)?;
        let server = settings.optional(URL).map(|url| Server::at(settings, &url, root.as_ref())).transpose()?;
        match (settings.optional(SECRET), server) {
            (None, None) => Err(BadSetting::Missing { name: URL.to_owned() }),
            (None, Some(server)) => Ok(Self::Open(Arc::new(server))),
            (Some(_), server) => {
                let own = settings.clone();
                let parse = move |text: &str| with_login(&own, text, server.as_ref(), root.as_ref());
                Secret::from_settings(settings, aws, SECRET, parse).map(Box::new).map(Self::WithLogin)
            }
        }
    }

    pub(super) async fn current(&self) -> Result<Arc<Server>, Unavailable> {
        match self {
            Self::Open(server) => Ok(Arc::clone(server)),
            Self::WithLogin(secret) => secret.current().await,
        }
    }

    /// Another one to try where this one did not know us.
    pub(super) async fn replacement(&self, refused: &Arc<Server>) -> Option<Arc<Server>> {
        match self {
            Self::Open(_) => None,
            Self::WithLogin(secret) => secret.replacement(refused).await,
        }
    }
}

impl Server {
    fn at(settings: &Settings, text: &str, root: Option<&Certificate>) -> Result<Self, BadSetting> {
        let url = Url::parse(text).ok().filter(|url| url.username().is_empty() && url.password().is_none());
        let Some(url) = url else { return Err(wrong_secret(URL, SHAPE)) };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong(URL, SHAPE, text))?;
        if settings.in_sam_local() && !is_local_host(host) {
            let state = format!("a URL of {host}, which is not on this machine");
            return Err(BadSetting::NotLocal { name: URL.to_owned(), state });
        }
        let is_plain = is_loopback(host) || settings.in_sam_local();
        let tls = || protected(host, root);
        let (security, usual_port) = match (url.scheme(), url.query()) {
            ("smtps", None) => (Security::Tls(tls()?), 465),
            ("smtp", None) => (Security::StartTls(tls()?), 587),
            ("smtp", Some("tls=none")) if is_plain => (Security::None, 25),
            _ => return Err(wrong(URL, SHAPE, text)),
        };
        let port = url.port().unwrap_or(usual_port);
        Ok(Self { host: bare(host).to_owned(), port, security, credentials: None })
    }
}

/// The secret: who we are to the server, and where it is if no setting says so.
fn with_login(
    settings: &Settings,
    text: &str,
    set: Option<&Server>,
    root: Option<&Certificate>,
) -> Result<Server, &'static str> {
    let login: Login = serde_json::from_str(text).map_err(|_| "is not JSON with username and password")?;
    let server = match (set, login.url) {
        (Some(server), _) => server.clone(),
        (None, Some(url)) => {
            Server::at(settings, &url, root).map_err(|_| "is JSON whose url is neither smtps://host nor smtp://host")?
        }
        (None, None) => return Err("has no url, and BELFRY_SMTP_URL is not set"),
    };
    Ok(Server { credentials: Some(Credentials::new(login.username, login.password)), ..server })
}

/// A URL's IPv6 address without the brackets, as resolvers and certificates have it.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// For servers whose certificate is their owner's own.
fn root_certificate(settings: &Settings) -> Result<Option<Certificate>, BadSetting> {
    let root = settings.optional(ROOT_CERTIFICATE).map(|pem| Certificate::from_pem(pem.as_bytes()));
    root.transpose().map_err(|_| wrong_secret(ROOT_CERTIFICATE, "a certificate in PEM"))
}

/// The system's roots, and the one that is set.
fn protected(host: &str, root: Option<&Certificate>) -> Result<TlsParameters, BadSetting> {
    let mut tls = TlsParameters::builder(bare(host).to_owned());
    if let Some(root) = root {
        tls = tls.add_root_certificate(root.clone());
    }
    tls.build().map_err(|_| wrong(URL, "the URL of a host that a certificate can name", host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Result<Server, BadSetting> {
        Server::at(&Settings::from_iter([]), url, None)
    }

    fn servers(settings: &[(&str, &str)]) -> Result<Servers, BadSetting> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Servers::from_settings(&settings.iter().map(own).collect(), &SdkConfig::builder().build())
    }

    #[test]
    fn the_scheme_says_how_the_way_is_protected() {
        let smtps = server("smtps://mail.example.com").expect("smtps");
        assert!(matches!(smtps, Server { port: 465, security: Security::Tls(_), .. }));
        let submission = server("smtp://mail.example.com").expect("smtp");
        assert!(matches!(submission, Server { port: 587, security: Security::StartTls(_), .. }));
        let local = server("smtp://[::1]:1025?tls=none").expect("loopback");
        assert!(matches!(&local, Server { host, port: 1025, security: Security::None, .. } if host == "::1"));
    }

    #[test]
    fn nothing_goes_in_plain_text_beyond_the_loopback() {
        for url in ["smtp://mail.example.com?tls=none", "smtp://10.0.0.1?tls=none", "smtp://h?tls=maybe", "http://h"] {
            assert!(server(url).is_err(), "{url}");
        }
    }

    #[test]
    fn no_mail_leaves_a_container_of_sam_local() {
        let in_sam_local = |url| servers(&[(URL, url), ("AWS_SAM_LOCAL", "true")]);
        assert!(in_sam_local("smtp://host.docker.internal:1025?tls=none").is_ok());
        let problem = in_sam_local("smtps://mail.example.com").err().expect("elsewhere").to_string();
        assert!(problem.contains("cargo run -- --containers"), "{problem}");
    }

    #[test]
    fn a_password_is_not_shown_when_a_url_is_wrong() {
        let problem = server("smtps://ada:secret@mail.example.com").err().expect("wrong");
        assert!(!problem.to_string().contains("secret@"), "{problem}");
    }

    #[test]
    fn a_url_or_a_secret_must_be_set() {
        let problem = servers(&[(URL, ""), (SECRET, "")]).err().expect("neither");
        assert_eq!(problem.to_string(), "BELFRY_SMTP_URL is not set");
        assert!(matches!(servers(&[(URL, "smtps://mail.example.com")]), Ok(Servers::Open(_))));
        assert!(matches!(servers(&[(SECRET, "smtp")]), Ok(Servers::WithLogin(_))));
    }

    #[test]
    fn the_url_of_a_secret_is_used_where_none_is_set() {
        let none = Settings::from_iter([]);
        let text = r#"{"username": "u", "password": "p", "url": "smtps://of-the-secret.example.com"}"#;
        let set = server("smtp://set.example.com").expect("a server");
        let host = |set: Option<&Server>| with_login(&none, text, set, None).map(|server| server.host);
        assert_eq!(host(Some(&set)), Ok("set.example.com".to_owned()));
        assert_eq!(host(None), Ok("of-the-secret.example.com".to_owned()));
        let nowhere = with_login(&none, r#"{"username": "u", "password": "p"}"#, None, None).err();
        assert_eq!(nowhere, Some("has no url, and BELFRY_SMTP_URL is not set"));
        let not_json = with_login(&none, "password", Some(&set), None).err();
        assert_eq!(not_json, Some("is not JSON with username and password"));
    }

    #[test]
    fn a_root_certificate_that_cannot_be_read_stops_the_start() {
        let wrong = [(URL, "smtps://h.example.com"), (ROOT_CERTIFICATE, "-----BEGIN CERTIFICATE-----\n!")];
        assert!(servers(&wrong).is_err());
    }
}
