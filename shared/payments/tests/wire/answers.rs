//! Answers that the stand-in does not give.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::header::LOCATION;
use axum::http::{Method, StatusCode};
use payments::{CancelledIntent, Confirmed, PaymentError, PaymentProvider};

use crate::{PATIENT, intent, provider, serve, total};

/// A provider that answers every `POST` with one thing and shows the intent as another; and how often it was asked.
async fn answering(status: u16, post: &'static str, get: &'static str) -> (PaymentProvider, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let answer = move |method: Method| async move {
        count.fetch_add(1, Ordering::Relaxed);
        let shown = if method == Method::GET { (200, get) } else { (status, post) };
        (StatusCode::from_u16(shown.0).unwrap(), shown.1)
    };
    (provider(&serve(Router::new().fallback(answer)).await, PATIENT), asked)
}

const OPEN: &str = r#"{"id": "pi_1", "status": "requires_confirmation", "last_payment_error": null}"#;
const CHARGED: &str = r#"{"id": "pi_1", "status": "succeeded"}"#;
const CANCELLED: &str = r#"{"id": "pi_1", "status": "canceled"}"#;
const DECLINED: &str = r#"{"id": "pi_1", "status": "requires_payment_method",
    "last_payment_error": {"type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds"}}"#;
const UNEXPECTED: &str = r#"{"error": {"code": "payment_intent_unexpected_state"}}"#;

#[tokio::test]
async fn intent_is_read_if_the_answer_has_no_final_state() {
    let declined = Confirmed::Declined { reason: "insufficient_funds" };
    for (status, said) in [(200, OPEN), (200, "{}"), (400, UNEXPECTED), (402, "")] {
        for (shown, expected) in
            [(CHARGED, Confirmed::Succeeded), (CANCELLED, Confirmed::Cancelled), (DECLINED, declined)]
        {
            let (provider, asked) = answering(status, said, shown).await;
            assert_eq!(provider.confirm(&intent(), "k").await, Ok(expected), "{status} {said}");
            assert_eq!(asked.load(Ordering::Relaxed), 2);
        }
    }
    for (shown, expected) in [(CHARGED, CancelledIntent::Charged), (CANCELLED, CancelledIntent::Cancelled)] {
        let (provider, _) = answering(400, UNEXPECTED, shown).await;
        assert_eq!(provider.cancel(&intent(), "k").await, Ok(expected));
    }
}

#[tokio::test]
async fn replayed_internal_error_does_not_hide_a_charge() {
    let (provider, _) = answering(500, "", CHARGED).await;
    assert_eq!(provider.confirm(&intent(), "k").await, Ok(Confirmed::Succeeded));
    assert_eq!(provider.cancel(&intent(), "k").await, Ok(CancelledIntent::Charged));
}

#[tokio::test]
async fn earlier_decline_does_not_end_a_charge_in_progress() {
    let (provider, _) = answering(500, "", DECLINED).await;
    assert!(matches!(provider.confirm(&intent(), "k").await, Err(PaymentError::Transient(_))));
}

#[tokio::test]
async fn open_intent_is_reported_by_its_status() {
    for (shown, expected) in [
        (r#"{"status": "processing"}"#, "transient error: processing"),
        (OPEN, "transient error: requires_confirmation"),
        (r#"{"status": "requires_action"}"#, "refused: requires_action"),
        (r#"{"status": "requires_payment_method"}"#, "refused: requires_payment_method"),
        (r#"{"status": "something new"}"#, "refused: unknown intent status"),
    ] {
        let (provider, _) = answering(400, UNEXPECTED, shown).await;
        assert_eq!(provider.confirm(&intent(), "k").await.unwrap_err().to_string(), expected);
        assert!(matches!(provider.cancel(&intent(), "k").await, Err(PaymentError::Transient(_))));
    }
}

#[tokio::test]
async fn decline_is_reported_as_a_known_code() {
    for (said, reason) in [
        (r#"{"error": {"type": "card_error", "code": "expired_card"}}"#, "expired_card"),
        (r#"{"error": {"type": "card_error", "decline_code": "stolen_card", "code": "card_declined"}}"#, "declined"),
        (r#"{"error": {"type": "card_error", "decline_code": "ada@example.test"}}"#, "declined"),
    ] {
        let (provider, asked) = answering(402, said, "").await;
        assert_eq!(provider.confirm(&intent(), "k").await, Ok(Confirmed::Declined { reason }));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn status_tells_transient_from_refused() {
    for (status, said, expected, requests) in [
        (
            409,
            r#"{"error": {"code": "idempotency_key_in_use"}}"#,
            "transient error: idempotency_key_in_use (HTTP 409)",
            3,
        ),
        (429, r#"{"error": {"code": "lock_timeout"}}"#, "transient error: lock_timeout (HTTP 429)", 3),
        (503, "<html>", "transient error: HTTP 503", 3),
        (200, r#"{"id": "pi"#, "transient error: cannot parse the answer (HTTP 200)", 3),
        (
            400,
            r#"{"error": {"type": "invalid_request_error", "code": "amount_too_small"}}"#,
            "refused: amount_too_small (HTTP 400)",
            1,
        ),
        (
            401,
            r#"{"error": {"type": "invalid_request_error"}}"#,
            "transient error: invalid_request_error (HTTP 401)",
            1,
        ),
        (403, r#"{"error": {"code": "something new"}}"#, "transient error: HTTP 403", 1),
        (404, "", "refused: HTTP 404", 1),
    ] {
        let (provider, asked) = answering(status, said, "").await;
        assert_eq!(provider.create("o-1", &total(), "k").await.unwrap_err().to_string(), expected);
        assert_eq!(asked.swap(0, Ordering::Relaxed), requests, "{status}");
        assert_eq!(provider.refund(&intent(), "k").await.unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn invalid_intent_id_is_refused() {
    for said in ["{}", r#"{"id": "../refunds"}"#] {
        let (provider, _) = answering(200, said, "").await;
        let refused = provider.create("o-1", &total(), "k").await.unwrap_err();
        assert_eq!(refused.to_string(), "refused: answer has no valid id");
    }
}

#[tokio::test]
async fn failed_refund_is_an_error() {
    for (said, expected) in [
        (r#"{"id": "re_1", "status": "pending"}"#, Ok(())),
        (r#"{"id": "re_1", "status": "failed"}"#, Err("refused: refund failed".to_owned())),
    ] {
        let (provider, _) = answering(200, said, "").await;
        let end = provider.refund(&intent(), "k").await.map_err(|error| error.to_string());
        assert_eq!(end, expected);
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let away = move || async move {
        count.fetch_add(1, Ordering::Relaxed);
        (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, "/elsewhere")])
    };
    let provider = provider(&serve(Router::new().fallback(away)).await, PATIENT);
    assert_eq!(provider.refund(&intent(), "k").await.unwrap_err().to_string(), "refused: HTTP 307");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
