//! The SMTP server, its transport security and our login.

use std::sync::Arc;

use aws_types::SdkConfig;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, TlsParameters};
use provider_http::{invalid_secret, invalid_setting, is_loopback};
use reqwest::Url;
use runtime::secrets::Unavailable;
use runtime::{BadSetting, Secret, Settings, is_local_host};
use serde::Deserialize;

const URL: &str = "BELFRY_SMTP_URL";
const SECRET: &str = "BELFRY_SMTP_SECRET";
const ROOT_CERTIFICATE: &str = "BELFRY_SMTP_ROOT_CERTIFICATE";

const SHAPE: &str = "smtps://host (TLS), smtp://host (STARTTLS), or smtp://127.0.0.1:port?tls=none, without user and \
                     password, which belong in the secret";

/// The SMTP server, from the settings or the secret.
pub(super) enum Servers {
    /// No login is required.
    Open(Arc<Server>),
    /// A user name and password are required.
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
    /// TLS from the first byte.
    Tls(TlsParameters),
    /// STARTTLS, which is required.
    StartTls(TlsParameters),
    /// Plain text, on loopback only.
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

    /// Returns a server with another login, if the secret has changed since the refused one.
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
        let Some(url) = url else { return Err(invalid_secret(URL, SHAPE)) };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| invalid_setting(URL, SHAPE, text))?;
        if settings.in_sam_local() && !is_local_host(host) {
            let state = format!("a URL of {host}, which is not on this machine");
            return Err(BadSetting::NotLocal { name: URL.to_owned(), state });
        }
        let is_plain = is_loopback(host) || settings.in_sam_local();
        let tls = || tls_parameters(host, root);
        let (security, usual_port) = match (url.scheme(), url.query()) {
            ("smtps", None) => (Security::Tls(tls()?), 465),
            ("smtp", None) => (Security::StartTls(tls()?), 587),
            ("smtp", Some("tls=none")) if is_plain => (Security::None, 25),
            _ => return Err(invalid_setting(URL, SHAPE, text)),
        };
        let port = url.port().unwrap_or(usual_port);
        Ok(Self { host: without_brackets(host).to_owned(), port, security, credentials: None })
    }
}

/// Parses the secret: the login, and the server's URL unless `BELFRY_SMTP_URL` sets it.
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

/// Removes the brackets of an IPv6 address, as resolvers and certificates require.
fn without_brackets(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Reads the root certificate for servers with a private one.
fn root_certificate(settings: &Settings) -> Result<Option<Certificate>, BadSetting> {
    let root = settings.optional(ROOT_CERTIFICATE).map(|pem| Certificate::from_pem(pem.as_bytes()));
    root.transpose().map_err(|_| invalid_secret(ROOT_CERTIFICATE, "a certificate in PEM"))
}

/// Trusts the system's roots and the configured one.
fn tls_parameters(host: &str, root: Option<&Certificate>) -> Result<TlsParameters, BadSetting> {
    let mut tls = TlsParameters::builder(without_brackets(host).to_owned());
    if let Some(root) = root {
        tls = tls.add_root_certificate(root.clone());
    }
    tls.build().map_err(|_| invalid_setting(URL, "a URL whose host can appear in a certificate", host))
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
    fn scheme_selects_transport_security() {
        let smtps = server("smtps://mail.example.com").expect("smtps");
        assert!(matches!(smtps, Server { port: 465, security: Security::Tls(_), .. }));
        let submission = server("smtp://mail.example.com").expect("smtp");
        assert!(matches!(submission, Server { port: 587, security: Security::StartTls(_), .. }));
        let local = server("smtp://[::1]:1025?tls=none").expect("loopback");
        assert!(matches!(&local, Server { host, port: 1025, security: Security::None, .. } if host == "::1"));
    }

    #[test]
    fn plain_text_is_refused_beyond_loopback() {
        for url in ["smtp://mail.example.com?tls=none", "smtp://10.0.0.1?tls=none", "smtp://h?tls=maybe", "http://h"] {
            assert!(server(url).is_err(), "{url}");
        }
    }

    #[test]
    fn sam_local_container_sends_to_this_machine_only() {
        let in_sam_local = |url| servers(&[(URL, url), ("AWS_SAM_LOCAL", "true")]);
        assert!(in_sam_local("smtp://host.docker.internal:1025?tls=none").is_ok());
        let problem = in_sam_local("smtps://mail.example.com").err().expect("elsewhere").to_string();
        assert!(problem.contains("cargo run -- --containers"), "{problem}");
    }

    #[test]
    fn password_in_invalid_url_is_not_shown() {
        let problem = server("smtps://ada:secret@mail.example.com").err().expect("wrong");
        assert!(!problem.to_string().contains("secret@"), "{problem}");
    }

    #[test]
    fn url_or_secret_is_required() {
        let problem = servers(&[(URL, ""), (SECRET, "")]).err().expect("neither");
        assert_eq!(problem.to_string(), "BELFRY_SMTP_URL is not set");
        assert!(matches!(servers(&[(URL, "smtps://mail.example.com")]), Ok(Servers::Open(_))));
        assert!(matches!(servers(&[(SECRET, "smtp")]), Ok(Servers::WithLogin(_))));
    }

    #[test]
    fn setting_overrides_url_of_secret() {
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
    fn invalid_root_certificate_is_refused() {
        let wrong = [(URL, "smtps://h.example.com"), (ROOT_CERTIFICATE, "-----BEGIN CERTIFICATE-----\n!")];
        assert!(servers(&wrong).is_err());
    }
}
