//! Access tokens for FCM: the service account signs an assertion (RS256) and exchanges it at its `token_uri` for an access
//! token, which is cached until shortly before it expires.
//!
//! The account's key file is a secret. If Google refuses it, it is fetched again, and a new account gets a new token.
//!
//! Nothing of a message is sent here, so every failure is [`SendError::Unavailable`].

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_types::SdkConfig;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use provider_http::may_call;
use reqwest::{Client, Url};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use runtime::{BadSetting, Secret, Settings};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::{Reason, SendError, http_error};

const SECRET: &str = "BELFRY_FCM_SECRET";
const SCOPE: &str = "https://www.googleapis.com/auth/firebase.messaging";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Google's longest lifetime of an assertion and of an access token, in seconds.
const MAX_LIFETIME: u64 = 3600;

/// How long before its expiry an access token is no longer used.
const MARGIN: Duration = Duration::from_secs(300);

/// A service account, from its key file.
pub(super) struct ServiceAccount {
    /// The project to send messages for.
    pub(super) project: String,
    client_email: String,
    key_id: Option<String>,
    key: RsaKeyPair,
    token_uri: String,
}

#[derive(Deserialize)]
struct KeyFile {
    project_id: Option<String>,
    client_email: String,
    private_key_id: Option<String>,
    private_key: String,
    token_uri: String,
}

impl ServiceAccount {
    /// Parses a key file. `project` overrides the account's own.
    pub(super) fn parse(settings: &Settings, text: &str, project: Option<&str>) -> Result<Self, &'static str> {
        let file: KeyFile =
            serde_json::from_str(text).map_err(|_| "is not JSON with client_email, private_key and token_uri")?;
        let key = rsa_key(&file.private_key).ok_or("is JSON whose private_key is not an RSA key in PEM")?;
        if !Url::parse(&file.token_uri).is_ok_and(|url| may_call(settings, &url)) {
            return Err("is JSON whose token_uri is not an https URL");
        }
        let project = project.map(str::to_owned).or(file.project_id);
        let project = project.ok_or("has no project_id, and BELFRY_FCM_PROJECT is not set")?;
        if !is_project(&project) {
            return Err("is JSON whose project_id is not a project id");
        }
        let KeyFile { client_email, private_key_id: key_id, token_uri, .. } = file;
        Ok(Self { project, client_email, key_id, key, token_uri })
    }

    /// Returns the signed JWT. Its format is fixed, so a JWT library would add little more than the signature below.
    fn assertion(&self, now: u64) -> Result<String, SendError> {
        let cannot_sign = || Reason::text("cannot sign with the service account").unavailable();
        let header = Header { alg: "RS256", typ: "JWT", kid: self.key_id.as_deref() };
        let claims =
            Claims { iss: &self.client_email, scope: SCOPE, aud: &self.token_uri, iat: now, exp: now + MAX_LIFETIME };
        let [header, claims] = [serde_json::to_vec(&header), serde_json::to_vec(&claims)]
            .map(|part| part.map(|json| BASE64_URL_SAFE_NO_PAD.encode(json)).map_err(|_| cannot_sign()));
        let signed = format!("{}.{}", header?, claims?);
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| cannot_sign())?;
        Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// Returns whether this is safe in a URL path.
pub(super) fn is_project(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b':'))
}

fn rsa_key(pem: &str) -> Option<RsaKeyPair> {
    match PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()? {
        PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).ok(),
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()).ok(),
        _ => None,
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[derive(Serialize)]
struct Header<'a> {
    alg: &'static str,
    typ: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    scope: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
}

/// The account's cached access token. One task at a time fetches it.
pub(super) struct AccessTokens {
    /// Boxed to keep the enum `Provider` small.
    account: Box<Secret<ServiceAccount>>,
    client: Client,
    cached: Mutex<Option<Cached>>,
}

/// An access token and its account.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) token: Arc<str>,
    pub(super) account: Arc<ServiceAccount>,
}

struct Cached {
    access: Access,
    good_until: Instant,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    expires_in: u64,
}

/// No token was returned.
struct TokenError {
    error: SendError,
    /// Google does not accept the account.
    account_refused: bool,
}

impl AccessTokens {
    /// Reads `BELFRY_FCM_SECRET`, the secret with the key file.
    pub(super) fn from_settings(
        settings: &Settings,
        aws: &SdkConfig,
        project: Option<String>,
        client: Client,
    ) -> Result<Self, BadSetting> {
        let own = settings.clone();
        let parse = move |text: &str| ServiceAccount::parse(&own, text, project.as_deref());
        let account = Secret::from_settings(settings, aws, SECRET, parse)?;
        Ok(Self { account: Box::new(account), client, cached: Mutex::new(None) })
    }

    /// Returns the cached token or fetches one.
    pub(super) async fn current(&self, deadline: Instant) -> Result<Access, SendError> {
        self.token_other_than(None, deadline).await
    }

    /// Returns a token other than the refused one, of a new account if the secret has changed.
    pub(super) async fn after_refusal(&self, refused: &Access, deadline: Instant) -> Result<Access, SendError> {
        // If the secret has changed, the next line uses the new account.
        let _ = timeout_at(deadline, self.account.replacement(&refused.account)).await;
        self.token_other_than(Some(refused), deadline).await
    }

    /// Returns whether the secret now holds another account.
    pub(super) async fn is_replaced(&self, refused: &Access, deadline: Instant) -> bool {
        timeout_at(deadline, self.account.replacement(&refused.account)).await.is_ok_and(|other| other.is_some())
    }

    async fn token_other_than(&self, refused: Option<&Access>, deadline: Instant) -> Result<Access, SendError> {
        let fetched = timeout_at(deadline, async {
            let account = self.account.current().await;
            let account = account.map_err(|_| Reason::text("secret is not available").unavailable())?;
            let mut cached = self.cached.lock().await;
            let good = |cached: &&Cached| {
                Instant::now() < cached.good_until
                    && Arc::ptr_eq(&cached.access.account, &account)
                    && refused.is_none_or(|refused| refused.token != cached.access.token)
            };
            if let Some(cached) = cached.as_ref().filter(good) {
                return Ok(cached.access.clone());
            }
            let (granted, account) = self.fetch_with_replacement(account).await?;
            let lives = Duration::from_secs(granted.expires_in.min(MAX_LIFETIME));
            let access = Access { token: Arc::from(granted.access_token), account };
            let good_until = Instant::now() + lives.saturating_sub(MARGIN.min(lives / 2));
            *cached = Some(Cached { access: access.clone(), good_until });
            Ok(access)
        });
        fetched.await.unwrap_or(Err(Reason::text("no access token within the time limit").unavailable()))
    }

    /// Fetches a token for this account or, if Google refuses it, for the secret's new account.
    async fn fetch_with_replacement(
        &self,
        account: Arc<ServiceAccount>,
    ) -> Result<(TokenResponse, Arc<ServiceAccount>), SendError> {
        let refused = match self.fetch(&account).await {
            Ok(granted) => return Ok((granted, account)),
            Err(TokenError { error, account_refused: false }) => return Err(error),
            Err(refused) => refused.error,
        };
        let fresh = self.account.replacement(&account).await.ok_or(refused)?;
        let granted = self.fetch(&fresh).await.map_err(|refused| refused.error)?;
        Ok((granted, fresh))
    }

    async fn fetch(&self, account: &ServiceAccount) -> Result<TokenResponse, TokenError> {
        let unavailable = |error| TokenError { error, account_refused: false };
        let assertion = account.assertion(unix_seconds()).map_err(unavailable)?;
        let form = [("grant_type", JWT_BEARER), ("assertion", assertion.as_str())];
        let answer = self.client.post(&account.token_uri).form(&form).send().await;
        let no_answer = |_| unavailable(Reason::text("access token endpoint did not answer").unavailable());
        let answer = answer.map_err(no_answer)?;
        let (status, retry_after) = (answer.status().as_u16(), http_error::retry_after(answer.headers()));
        let granted = serde_json::from_slice(&provider_http::read_body(answer).await);
        granted.map_err(|_| TokenError {
            error: SendError::Unavailable { reason: Reason::http(status, Some("no access token")), retry_after },
            // Google answers 400 (`invalid_grant`) for a deleted key.
            account_refused: matches!(status, 400 | 401 | 403),
        })
    }
}
