//! Which mail server, how the way there is protected, and who we are to it.

use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, TlsParameters};
use outside::{is_loopback, optional, wrong, wrong_secret};
use reqwest::Url;
use runtime::{BadSetting, Settings, is_local_host};

const URL: &str = "BELFRY_SMTP_URL";
const USERNAME: &str = "BELFRY_SMTP_USERNAME";
const PASSWORD: &str = "BELFRY_SMTP_PASSWORD";
const ROOT_CERTIFICATE: &str = "BELFRY_SMTP_ROOT_CERTIFICATE";

const SHAPE: &str = "smtps://host (TLS), smtp://host (STARTTLS), or smtp://127.0.0.1:port?tls=none, without user and \
                     password, which are settings of their own";

pub(super) struct Server {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) credentials: Option<Credentials>,
}

pub(super) enum Security {
    /// From the first byte.
    Tls(TlsParameters),
    /// After a plain greeting, and never without.
    StartTls(TlsParameters),
    /// On the loopback only.
    None,
}

impl Server {
    pub(super) fn from_settings(settings: &Settings) -> Result<Self, BadSetting> {
        let text = settings.text(URL)?;
        let url = Url::parse(&text).ok().filter(|url| url.username().is_empty() && url.password().is_none());
        let Some(url) = url else { return Err(wrong_secret(URL, SHAPE)) };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong(URL, SHAPE, &text))?;
        if settings.in_sam_local() && !is_local_host(host) {
            let state = format!("a URL of {host}, which is not on this machine");
            return Err(BadSetting::NotLocal { name: URL.to_owned(), state });
        }
        let is_plain = is_loopback(host) || settings.in_sam_local();
        let tls = || protected(host, settings);
        let (security, usual_port) = match (url.scheme(), url.query()) {
            ("smtps", None) => (Security::Tls(tls()?), 465),
            ("smtp", None) => (Security::StartTls(tls()?), 587),
            ("smtp", Some("tls=none")) if is_plain => (Security::None, 25),
            _ => return Err(wrong(URL, SHAPE, text)),
        };
        let port = url.port().unwrap_or(usual_port);
        Ok(Self { host: bare(host).to_owned(), port, security, credentials: credentials(settings)? })
    }
}

/// A URL's IPv6 address without the brackets, as resolvers and certificates have it.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The system's roots, and the one that is set, for servers whose certificate is their owner's own.
fn protected(host: &str, settings: &Settings) -> Result<TlsParameters, BadSetting> {
    let mut tls = TlsParameters::builder(bare(host).to_owned());
    if let Some(root) = optional(settings, ROOT_CERTIFICATE)? {
        let root = Certificate::from_pem(root.as_bytes());
        tls = tls.add_root_certificate(root.map_err(|_| wrong_secret(ROOT_CERTIFICATE, "a certificate in PEM"))?);
    }
    tls.build().map_err(|_| wrong(URL, "the URL of a host that a certificate can name", host))
}

fn credentials(settings: &Settings) -> Result<Option<Credentials>, BadSetting> {
    match (optional(settings, USERNAME)?, optional(settings, PASSWORD)?) {
        (Some(username), Some(password)) => Ok(Some(Credentials::new(username, password))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(BadSetting::Missing { name: PASSWORD.to_owned() }),
        (None, Some(_)) => Err(BadSetting::Missing { name: USERNAME.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(settings: &[(&str, &str)]) -> Result<Server, BadSetting> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Server::from_settings(&settings.iter().map(own).collect())
    }

    #[test]
    fn the_scheme_says_how_the_way_is_protected() {
        let smtps = server(&[(URL, "smtps://mail.example.com")]).expect("smtps");
        assert!(matches!(smtps, Server { port: 465, security: Security::Tls(_), .. }));
        let submission = server(&[(URL, "smtp://mail.example.com")]).expect("smtp");
        assert!(matches!(submission, Server { port: 587, security: Security::StartTls(_), .. }));
        let local = server(&[(URL, "smtp://[::1]:1025?tls=none")]).expect("loopback");
        assert!(matches!(&local, Server { host, port: 1025, security: Security::None, .. } if host == "::1"));
    }

    #[test]
    fn nothing_goes_in_plain_text_beyond_the_loopback() {
        for url in ["smtp://mail.example.com?tls=none", "smtp://10.0.0.1?tls=none", "smtp://h?tls=maybe", "http://h"] {
            assert!(server(&[(URL, url)]).is_err(), "{url}");
        }
    }

    #[test]
    fn no_mail_leaves_a_container_of_sam_local() {
        let in_sam_local = |url| server(&[(URL, url), ("AWS_SAM_LOCAL", "true")]);
        assert!(in_sam_local("smtp://host.docker.internal:1025?tls=none").is_ok());
        let problem = in_sam_local("smtps://mail.example.com").err().expect("elsewhere").to_string();
        assert!(problem.contains("cargo run -- --containers"), "{problem}");
    }

    #[test]
    fn a_password_is_not_shown_when_a_setting_is_wrong() {
        let problem = server(&[(URL, "smtps://ada:secret@mail.example.com")]).err().expect("wrong");
        assert!(!problem.to_string().contains("secret"), "{problem}");
        let problem = server(&[(URL, "smtps://mail.example.com"), (PASSWORD, "secret")]).err().expect("half");
        assert_eq!(problem.to_string(), "BELFRY_SMTP_USERNAME is not set");
    }

    #[test]
    fn a_root_certificate_that_cannot_be_read_stops_the_start() {
        let problem = server(&[(URL, "smtps://h.example.com"), (ROOT_CERTIFICATE, "-----BEGIN CERTIFICATE-----\n!")]);
        assert!(problem.is_err());
    }
}
