//! Answers that the stand-in does not give.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::header::LOCATION;
use axum::http::{Method, StatusCode};
use payments::{CancelledIntent, Confirmed, NotDone, PaymentProvider};

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
async fn where_the_answer_does_not_say_the_intent_does() {
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
async fn a_failure_inside_that_is_repeated_under_its_key_does_not_hide_a_charge() {
    let (provider, _) = answering(500, "", CHARGED).await;
    assert_eq!(provider.confirm(&intent(), "k").await, Ok(Confirmed::Succeeded));
    assert_eq!(provider.cancel(&intent(), "k").await, Ok(CancelledIntent::Charged));
}

#[tokio::test]
async fn an_earlier_decline_says_nothing_of_a_charge_that_may_be_under_way() {
    let (provider, _) = answering(500, "", DECLINED).await;
    assert!(matches!(provider.confirm(&intent(), "k").await, Err(NotDone::Transient(_))));
}

#[tokio::test]
async fn an_intent_that_stays_open_is_told_by_its_state() {
    for (shown, expected) in [
        (r#"{"status": "processing"}"#, "failed for now: processing"),
        (OPEN, "failed for now: requires_confirmation"),
        (r#"{"status": "requires_action"}"#, "refused: requires_action"),
        (r#"{"status": "requires_payment_method"}"#, "refused: requires_payment_method"),
        (r#"{"status": "something new"}"#, "refused: a state that is not known"),
    ] {
        let (provider, _) = answering(400, UNEXPECTED, shown).await;
        assert_eq!(provider.confirm(&intent(), "k").await.unwrap_err().to_string(), expected);
        assert!(matches!(provider.cancel(&intent(), "k").await, Err(NotDone::Transient(_))));
    }
}

#[tokio::test]
async fn a_decline_is_told_in_known_words() {
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
async fn a_status_says_whether_it_may_go_better_later() {
    for (status, said, expected, requests) in [
        (
            409,
            r#"{"error": {"code": "idempotency_key_in_use"}}"#,
            "failed for now: idempotency_key_in_use (HTTP 409)",
            3,
        ),
        (429, r#"{"error": {"code": "lock_timeout"}}"#, "failed for now: lock_timeout (HTTP 429)", 3),
        (503, "<html>", "failed for now: HTTP 503", 3),
        (200, r#"{"id": "pi"#, "failed for now: an answer that cannot be read (HTTP 200)", 3),
        (
            400,
            r#"{"error": {"type": "invalid_request_error", "code": "amount_too_small"}}"#,
            "refused: amount_too_small (HTTP 400)",
            1,
        ),
        (401, r#"{"error": {"type": "invalid_request_error"}}"#, "failed for now: invalid_request_error (HTTP 401)", 1),
        (403, r#"{"error": {"code": "something new"}}"#, "failed for now: HTTP 403", 1),
        (404, "", "refused: HTTP 404", 1),
    ] {
        let (provider, asked) = answering(status, said, "").await;
        assert_eq!(provider.create("o-1", &total(), "k").await.unwrap_err().to_string(), expected);
        assert_eq!(asked.swap(0, Ordering::Relaxed), requests, "{status}");
        assert_eq!(provider.refund(&intent(), "k").await.unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn an_intents_id_must_be_one() {
    for said in ["{}", r#"{"id": "../refunds"}"#] {
        let (provider, _) = answering(200, said, "").await;
        let refused = provider.create("o-1", &total(), "k").await.unwrap_err();
        assert_eq!(refused.to_string(), "refused: an answer without an id");
    }
}

#[tokio::test]
async fn a_refund_that_failed_is_no_refund() {
    for (said, expected) in [
        (r#"{"id": "re_1", "status": "pending"}"#, Ok(())),
        (r#"{"id": "re_1", "status": "failed"}"#, Err("refused: the refund failed".to_owned())),
    ] {
        let (provider, _) = answering(200, said, "").await;
        let end = provider.refund(&intent(), "k").await.map_err(|not_done| not_done.to_string());
        assert_eq!(end, expected);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
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
