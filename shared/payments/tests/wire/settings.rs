//! What is set, what stops a start, and what is not shown.

use payments::PaymentProvider;

use crate::{SECRET, configured, intent, provider, serve};

fn problem(values: &[(&str, &str)]) -> String {
    PaymentProvider::from_settings(&configured(values)).unwrap_err().to_string()
}

#[test]
fn the_key_alone_must_be_set() {
    assert_eq!(problem(&[]), "BELFRY_PAYMENT_KEY is not set");
    let provider = PaymentProvider::from_settings(&configured(&[("BELFRY_PAYMENT_KEY", SECRET)])).unwrap();
    assert!(format!("{provider:?}").contains("https://api.stripe.com"));
    assert_eq!(provider.longest_call().as_secs(), 30);
}

#[test]
fn what_is_wrong_names_itself() {
    let with = |name, value| problem(&[("BELFRY_PAYMENT_KEY", SECRET), (name, value)]);
    assert!(with("BELFRY_PAYMENT_URL", "http://example.com").starts_with("BELFRY_PAYMENT_URL must be an https URL"));
    assert!(with("BELFRY_PROVIDER_TIME_LIMIT", "21s").starts_with("BELFRY_PROVIDER_TIME_LIMIT must be at most 20s"));
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    for wrong in ["sk_test secret", "sk_test_secret\n", "sk_secrét"] {
        let problem = problem(&[("BELFRY_PAYMENT_KEY", wrong)]);
        assert_eq!(problem, "BELFRY_PAYMENT_KEY must be visible ASCII characters, but is \"(not shown)\"");
    }
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
