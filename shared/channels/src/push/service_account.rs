//! How FCM lets us in: a service account signs an assertion (RS256) and trades it at its `token_uri` for an access
//! token, which is kept until shortly before it expires.
//!
//! Nothing of a message is sent here, so every failure is [`NotSent::Unavailable`].

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use outside::{may_call, wrong_secret};
use reqwest::{Client, Url};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use runtime::{BadSetting, Settings};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
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
    /// Boxed, because it is large, and the other providers are small.
    key: Box<RsaKeyPair>,
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
        let key = rsa_key(&file.private_key).ok_or_else(|| wrong("JSON with an RSA key in PEM as its private_key"))?;
        if !Url::parse(&file.token_uri).is_ok_and(|url| may_call(settings, &url)) {
            return Err(wrong("JSON with an https URL as its token_uri"));
        }
        let KeyFile { project_id, client_email, private_key_id: key_id, token_uri, .. } = file;
        Ok(Self { project_id, client_email, key_id, key: Box::new(key), token_uri })
    }

    /// A JWT of the one shape that Google takes here: signing it is all that a library for JWTs would be needed for.
    fn assertion(&self, now: u64) -> Result<String, NotSent> {
        let cannot_sign = || Reason::word("the service account cannot sign").unavailable();
        let header = Header { alg: "RS256", typ: "JWT", kid: self.key_id.as_deref() };
        let claims =
            Claims { iss: &self.client_email, scope: SCOPE, aud: &self.token_uri, iat: now, exp: now + LONGEST };
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
        let assertion = self.account.assertion(unix_seconds())?;
        let form = [("grant_type", JWT_BEARER), ("assertion", assertion.as_str())];
        let answer = self.client.post(&self.account.token_uri).form(&form).send().await;
        let answer = answer.map_err(|_| Reason::word("no answer to the request for an access token").unavailable())?;
        let (status, retry_after) = (answer.status().as_u16(), http::retry_after(answer.headers()));
        let granted = serde_json::from_slice(&http::body(answer).await);
        granted.map_err(|_| NotSent::Unavailable { reason: Reason::http(status, Some("no access token")), retry_after })
    }
}
