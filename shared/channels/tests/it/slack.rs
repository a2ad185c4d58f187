//! Slack's incoming webhooks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::routing::post;
use channels::{NotSent, Outgoing, Provider, slack::Slack};
use providers::{Mode, Target};

use crate::{Nobody, PATIENT, Stage, fate, outgoing, patience, serve, settings, webhook};

pub(crate) fn slack(limit: &str) -> Provider {
    Provider::Slack(Slack::from_settings(&settings(limit, &[("BELFRY_SLACK_HOSTS", "127.0.0.1")])).unwrap())
}

fn post_to(url: &str) -> Outgoing {
    outgoing(webhook(url))
}

#[tokio::test]
async fn a_post_has_its_title_above_its_text() {
    let stage = Stage::start().await;
    let receipt = slack(PATIENT).send(&post_to(&stage.url)).await.unwrap();
    assert_eq!((receipt.provider, receipt.message_id), ("slack", None));
    let sent = stage.accepted(Target::Slack);
    assert_eq!(sent.to.as_deref(), Some("/services/T1/B2/secret"));
    assert_eq!(sent.body.as_deref(), Some("*Your table*\nAt eight, così come sempre"));
}

#[tokio::test]
async fn each_way_to_misbehave_has_its_fate_and_one_request() {
    let stage = Stage::start().await;
    for (mode, expected) in [
        (Mode::Error, "failed: rollup_error (HTTP 500)"),
        (Mode::Reject, "address is dead: no_service (HTTP 404)"),
        (Mode::Unavailable, "unavailable: rate_limited (HTTP 429)"),
        (Mode::Timeout, "unknown: no answer in time"),
        (Mode::DropAnswer, "unknown: the connection broke before the answer"),
    ] {
        let (not_sent, requests) = stage.under(mode, &slack(patience(mode)), &post_to(&stage.url)).await;
        assert_eq!((not_sent.to_string().as_str(), requests), (expected, 1), "{mode:?}");
        if let NotSent::Unavailable { retry_after, .. } = not_sent {
            assert_eq!(retry_after, Some(Duration::from_secs(1)));
        }
    }
}

#[tokio::test]
async fn a_lost_answer_stays_unknown_after_an_answer_that_came() {
    let stage = Stage::start().await;
    let slack = slack(PATIENT);
    slack.send(&post_to(&stage.url)).await.unwrap();
    let (not_sent, requests) = stage.under(Mode::DropAnswer, &slack, &post_to(&stage.url)).await;
    assert!(matches!(not_sent, NotSent::Unknown { .. }), "{not_sent}");
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let not_sent = slack(PATIENT).send(&post_to(&Nobody::new().url)).await.unwrap_err();
    assert_eq!(not_sent.to_string(), "unavailable: no connection");
}

#[tokio::test]
async fn an_answer_is_sorted_by_its_word_and_its_status() {
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
        assert_eq!(fate(&slack(PATIENT).send(&post_to(&url)).await), expected, "{status} {word}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let followed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&followed);
    let elsewhere = move || async move {
        count.fetch_add(1, Ordering::Relaxed);
        "ok"
    };
    let away = async || (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, "/elsewhere")]);
    let url = serve(Router::new().route("/elsewhere", post(elsewhere)).fallback(away)).await;
    let not_sent = slack(PATIENT).send(&post_to(&url)).await.unwrap_err();
    assert_eq!(not_sent.to_string(), "refused: HTTP 307");
    assert_eq!(followed.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_webhook_elsewhere_gets_nothing() {
    let stage = Stage::start().await;
    let strict = Provider::Slack(Slack::from_settings(&settings(PATIENT, &[])).unwrap());
    let not_sent = strict.send(&post_to(&stage.url)).await.unwrap_err();
    assert_eq!(not_sent.to_string(), "refused: a webhook at a host that is not allowed");
    assert!(stage.providers.sent(None).is_empty());
}
