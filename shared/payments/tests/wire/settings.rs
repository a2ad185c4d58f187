//! Settings and the secret.

use payments::{PaymentError, PaymentProvider};
use providers::{Outcome, Secrets};

use crate::{PATIENT, SECRET, Stage, configured, intent, provider, secret, serve, total, with_secrets};

fn problem(values: &[(&str, &str)]) -> String {
    PaymentProvider::from_settings(&configured(values), &Secrets::default().sdk_config()).unwrap_err().to_string()
}

#[test]
fn only_the_secret_is_required() {
    assert_eq!(problem(&[]), "BELFRY_PAYMENT_SECRET is not set");
    let settings = configured(&[("BELFRY_PAYMENT_SECRET", "payment"), ("BELFRY_PAYMENT_URL", "")]);
    let provider = PaymentProvider::from_settings(&settings, &Secrets::default().sdk_config()).unwrap();
    assert!(format!("{provider:?}").contains("https://api.stripe.com"));
    assert_eq!(provider.longest_call().as_secs(), 30);
}

#[test]
fn invalid_setting_is_named() {
    let with = |name, value| problem(&[("BELFRY_PAYMENT_SECRET", "payment"), (name, value)]);
    assert!(with("BELFRY_PAYMENT_URL", "http://example.com").starts_with("BELFRY_PAYMENT_URL must be an https URL"));
    assert!(with("BELFRY_PROVIDER_TIME_LIMIT", "21s").starts_with("BELFRY_PROVIDER_TIME_LIMIT must be at most 20s"));
}

#[tokio::test]
async fn rotated_key_is_used_in_the_call_that_was_refused() {
    let stage = Stage::start().await;
    stage.created().await;
    stage.providers.secrets().put("payment", secret("sk_test_rotated"));
    stage.provider.create("o-2", &total(), "create-2").await.unwrap();
    let outcomes: Vec<Outcome> = stage.sent().into_iter().map(|sent| sent.outcome).collect();
    assert_eq!(outcomes, [Outcome::Accepted, Outcome::Rejected, Outcome::Accepted]);
}

#[tokio::test]
async fn unknown_key_is_transient_and_fetched_once() {
    let stage = Stage::start().await;
    let other = Secrets::default();
    other.put("payment", secret("sk_test_of_somebody_else"));
    let provider = with_secrets(&stage.url, PATIENT, &other);
    for _ in 0..2 {
        let error = provider.create("o-1", &total(), "create").await.unwrap_err();
        assert!(matches!(error, PaymentError::Transient(_)), "{error}");
    }
    assert_eq!(stage.sent().len(), 2, "an unchanged key is not tried again at once");
}

#[tokio::test]
async fn secret_that_is_not_json_is_transient_and_not_shown() {
    let secrets = Secrets::default();
    secrets.put("payment", SECRET);
    let provider = with_secrets("http://127.0.0.1:9", PATIENT, &secrets);
    let error = provider.create("o-1", &total(), "create").await.unwrap_err();
    assert_eq!(error.to_string(), "transient error: secret is not available");
}

#[tokio::test]
async fn key_is_never_printed() {
    // Answers with everything it received.
    let parrot = async |headers: axum::http::HeaderMap| {
        let echo = format!("{headers:?} {:?}", headers.get("authorization"));
        (axum::http::StatusCode::BAD_REQUEST, format!(r#"{{"error": {{"code": {echo:?}, "type": {echo:?}}}}}"#))
    };
    let provider = provider(&serve(axum::Router::new().fallback(parrot)).await, "5s");
    let refused = provider.confirm(&intent(), "key-of-the-order").await.unwrap_err();
    assert_eq!(refused.to_string(), "refused: HTTP 400");
    for shown in [format!("{provider:?}"), format!("{provider:#?}"), format!("{refused:?}")] {
        assert!(!shown.contains(SECRET) && !shown.contains("key-of-the-order"), "{shown}");
    }
}
