//! How FCM lets us in: a service account signs an assertion (RS256) and trades it at its `token_uri` for an access
//! token, which is kept until shortly before it expires.
//!
//! Nothing of a message is sent here, so every failure is [`NotSent::Unavailable`].

use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use outside::{is_safe, wrong_secret};
use reqwest::{Client, Url};
use runtime::{BadSetting, Settings};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::{NotSent, Reason, http};

const SERVICE_ACCOUNT: &str = "BELFRY_FCM_SERVICE_ACCOUNT";
const SCOPE: &str = "https://www.googleapis.com/auth/firebase.messaging";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Google's longest, in seconds: for an assertion, and for the access token that it brings.
const LONGEST: u64 = 3600;

/// How long before its end an access token is not used any more.
const MARGIN: Duration = Duration::from_secs(300);

/// The account's key, as its file has it.
pub(super) struct ServiceAccount {
    pub(super) project_id: Option<String>,
    client_email: String,
    key_id: Option<String>,
    key: EncodingKey,
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
    pub(super) fn from_settings(settings: &Settings) -> Result<Self, BadSetting> {
        let wrong = |expected| wrong_secret(SERVICE_ACCOUNT, expected);
        let file: KeyFile = serde_json::from_str(&settings.text(SERVICE_ACCOUNT)?)
            .map_err(|_| wrong("JSON with client_email, private_key and token_uri"))?;
        let key = EncodingKey::from_rsa_pem(file.private_key.as_bytes());
        let key = key.map_err(|_| wrong("JSON with an RSA key in PEM as its private_key"))?;
        if !Url::parse(&file.token_uri).is_ok_and(|url| is_safe(&url)) {
            return Err(wrong("JSON with an https URL as its token_uri"));
        }
        let KeyFile { project_id, client_email, private_key_id: key_id, token_uri, .. } = file;
        Ok(Self { project_id, client_email, key_id, key, token_uri })
    }

    fn assertion(&self, now: u64) -> Result<String, NotSent> {
        let header = Header { kid: self.key_id.clone(), ..Header::new(Algorithm::RS256) };
        let claims =
            Claims { iss: &self.client_email, scope: SCOPE, aud: &self.token_uri, iat: now, exp: now + LONGEST };
        encode(&header, &claims, &self.key).map_err(|_| Reason::word("the service account cannot sign").unavailable())
    }
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    scope: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
}

/// The account's access token, fetched by one at a time.
pub(super) struct AccessTokens {
    account: ServiceAccount,
    client: Client,
    cached: Mutex<Option<Cached>>,
}

struct Cached {
    token: Arc<str>,
    good_until: Instant,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: u64,
}

impl AccessTokens {
    pub(super) fn new(account: ServiceAccount, client: Client) -> Self {
        Self { account, client, cached: Mutex::new(None) }
    }

    /// The token, from memory or from Google, before the deadline; never one that was refused.
    pub(super) async fn current(&self, refused: Option<&str>, deadline: Instant) -> Result<Arc<str>, NotSent> {
        let good = |cached: &&Cached| Instant::now() < cached.good_until && Some(&*cached.token) != refused;
        let fetched = timeout_at(deadline, async {
            let mut cached = self.cached.lock().await;
            if let Some(cached) = cached.as_ref().filter(good) {
                return Ok(Arc::clone(&cached.token));
            }
            let granted = self.fetch().await?;
            let lives = Duration::from_secs(granted.expires_in.min(LONGEST));
            let token = Arc::from(granted.access_token);
            let good_until = Instant::now() + lives.saturating_sub(MARGIN.min(lives / 2));
            *cached = Some(Cached { token: Arc::clone(&token), good_until });
            Ok(token)
        });
        fetched.await.unwrap_or(Err(Reason::word("no access token in time").unavailable()))
    }

    async fn fetch(&self) -> Result<Granted, NotSent> {
        let assertion = self.account.assertion(get_current_timestamp())?;
        let form = [("grant_type", JWT_BEARER), ("assertion", assertion.as_str())];
        let answer = self.client.post(&self.account.token_uri).form(&form).send().await;
        let answer = answer.map_err(|_| Reason::word("no answer to the request for an access token").unavailable())?;
        let (status, retry_after) = (answer.status().as_u16(), http::retry_after(answer.headers()));
        let granted = serde_json::from_slice(&http::body(answer).await);
        granted.map_err(|_| NotSent::Unavailable { reason: Reason::http(status, Some("no access token")), retry_after })
    }
}
