//! Slack's incoming webhooks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::routing::post;
use channels::{Outgoing, Provider, SendError, slack::Slack};
use providers::{Mode, Target};

use crate::{ClosedPort, PATIENT, Stage, kind, outgoing, serve, settings, webhook};

pub(crate) fn slack(limit: &str) -> Provider {
    Provider::Slack(Slack::from_settings(&settings(limit, &[("BELFRY_SLACK_HOSTS", "127.0.0.1")])).unwrap())
}

fn post_to(url: &str) -> Outgoing {
    outgoing(webhook(url))
}

#[tokio::test]
async fn post_has_its_title_above_its_text() {
    let stage = Stage::start().await;
    let receipt = slack(PATIENT).send(&post_to(&stage.url)).await.unwrap();
    assert_eq!((receipt.provider, receipt.message_id), ("slack", None));
    let sent = stage.accepted(Target::Slack);
    assert_eq!(sent.to.as_deref(), Some("/services/T1/B2/secret"));
    assert_eq!(sent.body.as_deref(), Some("*Your table*\nAt eight, così come sempre"));
}

#[tokio::test]
async fn each_fault_has_its_error_after_one_request() {
    let stage = Stage::start().await;
    let expected = [
        "failed: rollup_error (HTTP 500)",
        "address is dead: no_service (HTTP 404)",
        "unavailable: rate_limited (HTTP 429)",
    ];
    stage.assert_errors(slack, &post_to(&stage.url), expected, Some(1)).await;
}

#[tokio::test]
async fn lost_answer_is_unknown_after_an_earlier_answer() {
    let stage = Stage::start().await;
    let slack = slack(PATIENT);
    slack.send(&post_to(&stage.url)).await.unwrap();
    let (error, requests) = stage.send_under(Mode::DropAnswer, &slack, &post_to(&stage.url)).await;
    assert!(matches!(error, SendError::Unknown { .. }), "{error}");
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn refused_connection_is_unavailable() {
    let error = slack(PATIENT).send(&post_to(&ClosedPort::new().url)).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: cannot connect");
}

#[tokio::test]
async fn answer_is_classified_by_code_and_status() {
    for (status, word, expected) in [
        (410, "channel_is_archived", "address dead"),
        (403, "action_prohibited", "address dead"),
        (403, "invalid_token", "address dead"),
        (400, "invalid_token", "address dead"),
        (404, "channel_not_found", "address dead"),
        (404, "something new", "address dead"),
        (403, "something new", "refused"),
        (400, "invalid_payload", "refused"),
        (400, "user_not_found", "refused"),
        (503, "", "unavailable"),
        (502, "", "unknown"),
        (500, "no_service", "failed"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let url = serve(Router::new().fallback(async move || (status, word))).await;
        assert_eq!(kind(&slack(PATIENT).send(&post_to(&url)).await), expected, "{status} {word}");
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let followed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&followed);
    let elsewhere = move || async move {
        count.fetch_add(1, Ordering::Relaxed);
        "ok"
    };
    let away = async || (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, "/elsewhere")]);
    let url = serve(Router::new().route("/elsewhere", post(elsewhere)).fallback(away)).await;
    let error = slack(PATIENT).send(&post_to(&url)).await.unwrap_err();
    assert_eq!(error.to_string(), "refused: HTTP 307");
    assert_eq!(followed.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn webhook_on_another_host_gets_nothing() {
    let stage = Stage::start().await;
    let strict = Provider::Slack(Slack::from_settings(&settings(PATIENT, &[])).unwrap());
    let error = strict.send(&post_to(&stage.url)).await.unwrap_err();
    assert_eq!(error.to_string(), "refused: webhook host is not allowed");
    assert!(stage.providers.sent(None).is_empty());
}
