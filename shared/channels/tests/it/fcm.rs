//! Firebase Cloud Messaging.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use aws_types::SdkConfig;
use axum::extract::State;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use channels::{Outgoing, Provider, push::Fcm};
use providers::{SERVICE_ACCOUNT_KEY, Target};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};

use crate::{Clock, ClosedPort, IMPATIENT, PATIENT, Stage, device, kind, outgoing, secret, serve, settings};

pub(crate) fn service_account(token_server: &str) -> String {
    service_account_with("key-1", token_server)
}

fn service_account_with(key_id: &str, token_server: &str) -> String {
    json!({
        "type": "service_account", "project_id": "belfry", "private_key_id": key_id, "private_key": SERVICE_ACCOUNT_KEY,
        "client_email": "bell@belfry.iam.gserviceaccount.com", "token_uri": format!("{token_server}/token"),
    })
    .to_string()
}

pub(crate) fn fcm(limit: &str, url: &str, token_server: &str) -> Provider {
    let (_, aws) = secret("fcm", &service_account(token_server));
    with_secret(limit, url, &aws)
}

/// The account is the secret `fcm`.
fn with_secret(limit: &str, url: &str, aws: &SdkConfig) -> Provider {
    let settings = settings(limit, &[("BELFRY_FCM_SECRET", "fcm"), ("BELFRY_FCM_URL", url)]);
    Provider::Fcm(Fcm::from_settings(&settings, aws).unwrap())
}

fn push() -> Outgoing {
    outgoing(device())
}

/// The header and the claims of an assertion that the service account has signed.
fn verified(assertion: &str) -> (Value, Value) {
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let key = PrivatePkcs8KeyDer::from_pem_slice(SERVICE_ACCOUNT_KEY.as_bytes()).unwrap();
    let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key());
    let bytes = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    public.verify(signed.as_bytes(), &bytes(signature)).expect("a good signature");
    let (header, claims) = signed.split_once('.').unwrap();
    (serde_json::from_slice(&bytes(header)).unwrap(), serde_json::from_slice(&bytes(claims)).unwrap())
}

/// A token endpoint that counts: its tokens are `token-1`, `token-2` and so on. It takes nothing that is not signed.
#[derive(Clone)]
struct TokenServer {
    asked: Arc<AtomicUsize>,
    expires_in: u64,
}

impl TokenServer {
    fn new() -> Self {
        Self { asked: Arc::default(), expires_in: 3600 }
    }

    async fn start(&self) -> String {
        serve(Router::new().route("/token", post(Self::token)).with_state(self.clone())).await
    }

    async fn token(State(server): State<Self>, headers: HeaderMap, form: String) -> Json<Value> {
        let assertion = form.split('&').find_map(|field| field.strip_prefix("assertion=")).unwrap();
        let (header, claims) = verified(assertion);
        assert_eq!(header, json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"}));
        assert_eq!(claims["aud"], format!("http://{}/token", headers["host"].to_str().unwrap()));
        assert_eq!(claims["iss"], "bell@belfry.iam.gserviceaccount.com");
        assert_eq!(claims["scope"], "https://www.googleapis.com/auth/firebase.messaging");
        let issued = claims["iat"].as_u64().unwrap();
        assert_eq!(claims["exp"], issued + 3600);
        let age = (UNIX_EPOCH + Duration::from_secs(issued)).elapsed().unwrap();
        assert!(age < Duration::from_secs(60), "issued {age:?} ago");
        let count = server.asked.fetch_add(1, Ordering::Relaxed) + 1;
        Json(
            json!({ "access_token": format!("token-{count}"), "expires_in": server.expires_in, "token_type": "Bearer" }),
        )
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_push_message_arrives_with_title_and_text() {
    let stage = Stage::start().await;
    let receipt = fcm(PATIENT, &stage.url, &stage.url).send(&push()).await.unwrap();
    assert_eq!(receipt.provider, "fcm");
    assert!(receipt.message_id.unwrap().starts_with("projects/belfry/messages/"));
    let sent = stage.accepted(Target::Push);
    assert_eq!(sent.to.as_deref(), Some("device-token-1"));
    assert_eq!(sent.subject.as_deref(), Some("Your table"));
    assert_eq!(sent.body.as_deref(), Some("At eight, così come sempre"));
}

#[tokio::test]
async fn each_fault_has_its_error_after_one_request() {
    let stage = Stage::start().await;
    let expected = [
        "failed: INTERNAL (HTTP 500)",
        "address is dead: UNREGISTERED (HTTP 404)",
        "unavailable: UNAVAILABLE (HTTP 503)",
    ];
    stage.assert_errors(|limit| fcm(limit, &stage.url, &stage.url), &push(), expected, Some(1)).await;
}

#[tokio::test]
async fn one_access_token_serves_many_messages_even_at_once() {
    let (stage, tokens) = (Stage::start().await, TokenServer::new());
    let fcm = fcm(PATIENT, &stage.url, &tokens.start().await);
    let push = push();
    let (first, second) = tokio::join!(fcm.send(&push), fcm.send(&push));
    assert!(first.is_ok() && second.is_ok() && fcm.send(&push).await.is_ok());
    assert_eq!(tokens.asked(), 1);
}

#[tokio::test]
async fn an_access_token_is_not_used_past_its_end() {
    let (stage, tokens) = (Stage::start().await, TokenServer { expires_in: 0, ..TokenServer::new() });
    let fcm = fcm(PATIENT, &stage.url, &tokens.start().await);
    for _ in 0..2 {
        fcm.send(&push()).await.unwrap();
    }
    assert_eq!(tokens.asked(), 2);
}

/// Takes one access token, and no other.
async fn taking_only(good: &'static str) -> String {
    let gate = async move |headers: HeaderMap| match headers[AUTHORIZATION].to_str() {
        Ok(token) if token == format!("Bearer {good}") => Json(json!({ "name": "m" })).into_response(),
        _ => (StatusCode::UNAUTHORIZED, Json(json!({ "error": { "status": "UNAUTHENTICATED" } }))).into_response(),
    };
    serve(Router::new().fallback(gate)).await
}

#[tokio::test]
async fn a_refused_access_token_is_fetched_again_once() {
    let tokens = TokenServer::new();
    let fcm = fcm(PATIENT, &taking_only("token-2").await, &tokens.start().await);
    assert_eq!(kind(&fcm.send(&push()).await), "sent");
    assert_eq!(tokens.asked(), 2);
    assert_eq!(kind(&fcm.send(&push()).await), "sent");
    assert_eq!(tokens.asked(), 2);
}

#[tokio::test]
async fn access_tokens_that_are_all_refused_are_unavailable() {
    let tokens = TokenServer::new();
    let fcm = fcm(PATIENT, &taking_only("none").await, &tokens.start().await);
    assert_eq!(fcm.send(&push()).await.unwrap_err().to_string(), "unavailable: HTTP 401");
    assert_eq!(tokens.asked(), 2);
}

/// Gives tokens to one key alone. Tokens are named after it and expire at once.
async fn granting_only(good: Arc<Mutex<&'static str>>) -> String {
    let token = async move |form: String| {
        let assertion = form.split('&').find_map(|field| field.strip_prefix("assertion=")).unwrap();
        let key_id = verified(assertion).0["kid"].as_str().unwrap().to_owned();
        if key_id != *good.lock().unwrap() {
            return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" })));
        }
        (StatusCode::OK, Json(json!({ "access_token": key_id, "expires_in": 0, "token_type": "Bearer" })))
    };
    serve(Router::new().route("/token", post(token))).await
}

#[tokio::test]
async fn a_rotated_account_is_used_in_the_send_whose_token_was_refused() {
    let good = Arc::new(Mutex::new("key-1"));
    let (stage, tokens) = (Stage::start().await, granting_only(Arc::clone(&good)).await);
    let (secrets, aws) = secret("fcm", &service_account_with("key-1", &tokens));
    let fcm = with_secret(PATIENT, &stage.url, &aws);
    fcm.send(&push()).await.unwrap();
    *good.lock().unwrap() = "key-2";
    secrets.put("fcm", service_account_with("key-2", &tokens));
    fcm.send(&push()).await.unwrap();
}

#[tokio::test]
async fn another_account_has_another_access_token() {
    let (stage, tokens, clock) = (Stage::start().await, TokenServer::new(), Clock::default());
    let token_server = tokens.start().await;
    let (secrets, aws) = secret("fcm", &service_account(&token_server));
    let fcm = with_secret(PATIENT, &stage.url, &clock.of(aws));
    for (secret_is_another, expected) in [(false, 1), (true, 2)] {
        if secret_is_another {
            secrets.put("fcm", format!(" {}", service_account(&token_server)));
        }
        clock.advance(300);
        fcm.send(&push()).await.unwrap();
        fcm.send(&push()).await.unwrap();
        assert_eq!(tokens.asked(), expected);
    }
}

#[tokio::test]
async fn an_account_that_is_not_one_leaves_fcm_unavailable_until_it_is_mended() {
    let stage = Stage::start().await;
    let unsafe_ = service_account("http://example.com");
    for wrong in ["{", r#"{"client_email": "a", "private_key": "b", "token_uri": "https://c"}"#, &unsafe_] {
        let (secrets, aws) = secret("fcm", wrong);
        let clock = Clock::default();
        let fcm = with_secret(PATIENT, &stage.url, &clock.of(aws));
        let error = fcm.send(&push()).await.unwrap_err();
        assert_eq!(error.to_string(), "unavailable: secret is not available");
        secrets.put("fcm", service_account(&stage.url));
        clock.advance(1);
        fcm.send(&push()).await.unwrap();
    }
}

#[tokio::test]
async fn without_an_access_token_nothing_is_sent() {
    let (stage, closed) = (Stage::start().await, ClosedPort::new());
    let refusing = serve(Router::new().fallback(async || (StatusCode::BAD_REQUEST, r#"{"error":"invalid_grant"}"#)));
    let silent = serve(Router::new().fallback(std::future::pending::<()>));
    for (limit, token_server, expected) in [
        (PATIENT, closed.url.clone(), "unavailable: access token endpoint did not answer"),
        (PATIENT, refusing.await, "unavailable: no access token (HTTP 400)"),
        (IMPATIENT, silent.await, "unavailable: no access token within the time limit"),
    ] {
        let error = fcm(limit, &stage.url, &token_server).send(&push()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert!(stage.providers.sent(None).is_empty());
}

#[tokio::test]
async fn refused_connection_is_unavailable() {
    let stage = Stage::start().await;
    let error = fcm(PATIENT, &ClosedPort::new().url, &stage.url).send(&push()).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: cannot connect");
}

#[tokio::test]
async fn answer_is_classified_by_code_and_field() {
    let stage = Stage::start().await;
    let coded =
        |code: &str| json!({ "details": [{ "@type": "t/google.firebase.fcm.v1.FcmError", "errorCode": code }] });
    let violating = |field: &str| json!({ "details": [{ "@type": "t/google.rpc.BadRequest", "fieldViolations": [{ "field": field }] }] });
    let mut bad_token = coded("INVALID_ARGUMENT");
    bad_token["message"] = json!("The registration token is not a valid FCM registration token");
    for (status, error, expected) in [
        (403, coded("SENDER_ID_MISMATCH"), "refused"),
        (400, bad_token, "address dead"),
        (400, violating("message.token"), "address dead"),
        (400, violating("message.notification.title"), "refused"),
        (400, coded("INVALID_ARGUMENT"), "refused"),
        (429, coded("QUOTA_EXCEEDED"), "unavailable"),
        (401, coded("THIRD_PARTY_AUTH_ERROR"), "unavailable"),
        (403, json!({ "status": "PERMISSION_DENIED" }), "unavailable"),
        // A project that is not there says nothing about the token.
        (404, json!({ "status": "NOT_FOUND" }), "refused"),
        (500, json!("not what Google says"), "failed"),
        (504, json!({}), "unknown"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let shown = error.to_string();
        let url = serve(Router::new().fallback(async move || (status, Json(json!({ "error": error }))))).await;
        assert_eq!(kind(&fcm(PATIENT, &url, &stage.url).send(&push()).await), expected, "{status} {shown}");
    }
}

#[tokio::test]
async fn a_second_copy_replaces_the_first_on_the_screen() {
    let echo = async |body: String| Json(json!({ "name": body }));
    let (stage, url) = (Stage::start().await, serve(Router::new().fallback(echo)).await);
    let fcm = fcm(PATIENT, &url, &stage.url);
    let tags = async |outgoing: &Outgoing| {
        let sent: Value = serde_json::from_str(&fcm.send(outgoing).await.unwrap().message_id.unwrap()).unwrap();
        let tag = sent["message"]["android"]["notification"]["tag"].as_str().unwrap().to_owned();
        assert_eq!(sent["message"]["apns"]["headers"]["apns-collapse-id"], tag.as_str());
        assert_eq!(sent["message"]["webpush"]["notification"]["tag"], tag.as_str());
        tag
    };
    let mut other = push();
    other.idempotency_key = "notification-2#CHANNEL".to_owned();
    assert_eq!(tags(&push()).await, tags(&push()).await);
    assert_ne!(tags(&push()).await, tags(&other).await);
}
