//! How FCM lets us in: a service account signs an assertion (RS256) and trades it at its `token_uri` for an access
//! token, which is kept until shortly before it expires.
//!
//! The account is a secret: where Google does not take it, it is fetched again, and another account has another token.
//!
//! Nothing of a message is sent here, so every failure is [`NotSent::Unavailable`].

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_types::SdkConfig;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use outside::may_call;
use reqwest::{Client, Url};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use runtime::{BadSetting, Secret, Settings};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::{NotSent, Reason, http};

const SECRET: &str = "BELFRY_FCM_SECRET";
const SCOPE: &str = "https://www.googleapis.com/auth/firebase.messaging";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Google's longest, in seconds: for an assertion, and for the access token that it brings.
const LONGEST: u64 = 3600;

/// How long before its end an access token is not used any more.
const MARGIN: Duration = Duration::from_secs(300);

/// The account's key, as its file has it.
pub(super) struct ServiceAccount {
    /// The project that messages are sent for.
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
    /// Reads a key file. The project is the one that is set, or the account's own.
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
            return Err("is JSON whose project_id is not a project's id");
        }
        let KeyFile { client_email, private_key_id: key_id, token_uri, .. } = file;
        Ok(Self { project, client_email, key_id, key, token_uri })
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

/// Whether this can stand in a path.
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

/// The account's access token, fetched by one at a time.
pub(super) struct AccessTokens {
    /// Boxed, because it is large, and the other providers are small.
    account: Box<Secret<ServiceAccount>>,
    client: Client,
    cached: Mutex<Option<Cached>>,
}

/// What lets us in.
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
struct Granted {
    access_token: String,
    expires_in: u64,
}

/// There is no token.
struct NotGranted {
    not_sent: NotSent,
    /// The account is not one that Google knows.
    is_of_account: bool,
}

impl AccessTokens {
    /// `BELFRY_FCM_SECRET`, the account's key file.
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

    /// A token, from memory or from Google, before the deadline.
    pub(super) async fn current(&self, deadline: Instant) -> Result<Access, NotSent> {
        self.other_than(None, deadline).await
    }

    /// The same, after FCM has refused one: another token, and of another account if the secret has changed.
    pub(super) async fn after_refusal(&self, refused: &Access, deadline: Instant) -> Result<Access, NotSent> {
        // Whether it has, the next line sees.
        let _ = timeout_at(deadline, self.account.replacement(&refused.account)).await;
        self.other_than(Some(refused), deadline).await
    }

    /// Whether the secret holds another account than this one by now.
    pub(super) async fn is_replaced(&self, refused: &Access, deadline: Instant) -> bool {
        timeout_at(deadline, self.account.replacement(&refused.account)).await.is_ok_and(|other| other.is_some())
    }

    async fn other_than(&self, refused: Option<&Access>, deadline: Instant) -> Result<Access, NotSent> {
        let fetched = timeout_at(deadline, async {
            let account = self.account.current().await;
            let account = account.map_err(|_| Reason::word("its secret is not available").unavailable())?;
            let mut cached = self.cached.lock().await;
            let good = |cached: &&Cached| {
                Instant::now() < cached.good_until
                    && Arc::ptr_eq(&cached.access.account, &account)
                    && refused.is_none_or(|refused| refused.token != cached.access.token)
            };
            if let Some(cached) = cached.as_ref().filter(good) {
                return Ok(cached.access.clone());
            }
            let (granted, account) = self.granted(account).await?;
            let lives = Duration::from_secs(granted.expires_in.min(LONGEST));
            let access = Access { token: Arc::from(granted.access_token), account };
            let good_until = Instant::now() + lives.saturating_sub(MARGIN.min(lives / 2));
            *cached = Some(Cached { access: access.clone(), good_until });
            Ok(access)
        });
        fetched.await.unwrap_or(Err(Reason::word("no access token in time").unavailable()))
    }

    /// A token for this account, or for the one that has taken its place.
    async fn granted(&self, account: Arc<ServiceAccount>) -> Result<(Granted, Arc<ServiceAccount>), NotSent> {
        let refused = match self.fetch(&account).await {
            Ok(granted) => return Ok((granted, account)),
            Err(NotGranted { not_sent, is_of_account: false }) => return Err(not_sent),
            Err(refused) => refused.not_sent,
        };
        let fresh = self.account.replacement(&account).await.ok_or(refused)?;
        let granted = self.fetch(&fresh).await.map_err(|refused| refused.not_sent)?;
        Ok((granted, fresh))
    }

    async fn fetch(&self, account: &ServiceAccount) -> Result<Granted, NotGranted> {
        let unavailable = |not_sent| NotGranted { not_sent, is_of_account: false };
        let assertion = account.assertion(unix_seconds()).map_err(unavailable)?;
        let form = [("grant_type", JWT_BEARER), ("assertion", assertion.as_str())];
        let answer = self.client.post(&account.token_uri).form(&form).send().await;
        let no_answer = |_| unavailable(Reason::word("no answer to the request for an access token").unavailable());
        let answer = answer.map_err(no_answer)?;
        let (status, retry_after) = (answer.status().as_u16(), http::retry_after(answer.headers()));
        let granted = serde_json::from_slice(&http::body(answer).await);
        granted.map_err(|_| NotGranted {
            not_sent: NotSent::Unavailable { reason: Reason::http(status, Some("no access token")), retry_after },
            // Google says 400 (`invalid_grant`) of a key that was deleted.
            is_of_account: matches!(status, 400 | 401 | 403),
        })
    }
}
