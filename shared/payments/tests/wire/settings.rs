//! What is set, what stops a start, and what is not shown.

use payments::{NotDone, PaymentProvider};
use providers::{Outcome, Secrets};

use crate::{PATIENT, SECRET, Stage, configured, intent, provider, secret, serve, total, with_secrets};

fn problem(values: &[(&str, &str)]) -> String {
    PaymentProvider::from_settings(&configured(values), &Secrets::default().sdk_config()).unwrap_err().to_string()
}

#[test]
fn the_secret_alone_must_be_set() {
    assert_eq!(problem(&[]), "BELFRY_PAYMENT_SECRET is not set");
    let settings = configured(&[("BELFRY_PAYMENT_SECRET", "payment"), ("BELFRY_PAYMENT_URL", "")]);
    let provider = PaymentProvider::from_settings(&settings, &Secrets::default().sdk_config()).unwrap();
    assert!(format!("{provider:?}").contains("https://api.stripe.com"));
    assert_eq!(provider.longest_call().as_secs(), 30);
}

#[test]
fn what_is_wrong_names_itself() {
    let with = |name, value| problem(&[("BELFRY_PAYMENT_SECRET", "payment"), (name, value)]);
    assert!(with("BELFRY_PAYMENT_URL", "http://example.com").starts_with("BELFRY_PAYMENT_URL must be an https URL"));
    assert!(with("BELFRY_PROVIDER_TIME_LIMIT", "21s").starts_with("BELFRY_PROVIDER_TIME_LIMIT must be at most 20s"));
}

#[tokio::test]
async fn a_rotated_key_is_used_in_the_call_whose_key_was_refused() {
    let stage = Stage::start().await;
    stage.created().await;
    stage.providers.secrets().put("payment", secret("sk_test_rotated"));
    stage.provider.create("o-2", &total(), "create-2").await.unwrap();
    let outcomes: Vec<Outcome> = stage.sent().into_iter().map(|sent| sent.outcome).collect();
    assert_eq!(outcomes, [Outcome::Accepted, Outcome::Rejected, Outcome::Accepted]);
}

#[tokio::test]
async fn a_key_that_the_provider_does_not_know_may_be_mended_and_is_fetched_once() {
    let stage = Stage::start().await;
    let other = Secrets::default();
    other.put("payment", secret("sk_test_of_somebody_else"));
    let provider = with_secrets(&stage.url, PATIENT, &other);
    for _ in 0..2 {
        let not_done = provider.create("o-1", &total(), "create").await.unwrap_err();
        assert!(matches!(not_done, NotDone::Transient(_)), "{not_done}");
    }
    assert_eq!(stage.sent().len(), 2, "an unchanged key is not tried again at once");
}

#[tokio::test]
async fn a_secret_that_is_not_json_fails_for_now_and_is_not_shown() {
    let secrets = Secrets::default();
    secrets.put("payment", SECRET);
    let provider = with_secrets("http://127.0.0.1:9", PATIENT, &secrets);
    let not_done = provider.create("o-1", &total(), "create").await.unwrap_err();
    assert_eq!(not_done.to_string(), "failed for now: its secret is not available");
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    // A provider that says everything it was told.
    let echo = async |headers: axum::http::HeaderMap| {
        let told = format!("{headers:?} {:?}", headers.get("authorization"));
        (axum::http::StatusCode::BAD_REQUEST, format!(r#"{{"error": {{"code": {told:?}, "type": {told:?}}}}}"#))
    };
    let provider = provider(&serve(axum::Router::new().fallback(echo)).await, "5s");
    let refused = provider.confirm(&intent(), "key-of-the-order").await.unwrap_err();
    assert_eq!(refused.to_string(), "refused: HTTP 400");
    for shown in [format!("{provider:?}"), format!("{provider:#?}"), format!("{refused:?}")] {
        assert!(!shown.contains(SECRET) && !shown.contains("key-of-the-order"), "{shown}");
    }
}
