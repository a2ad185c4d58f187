//! Sends of which nobody knows whether they went out: the channel's setting decides, and nothing else does.

use harness::{Stack, announcement};
use reqwest::Method;
use serde_json::json;

use crate::sends::{announce, customer, hasty, open_letters, outcomes, redrive, send};

#[tokio::test]
async fn a_mail_whose_answer_was_lost_is_sent_again() {
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("EMAIL", "drop_answer", Some(1)).await;
    announce(&stack, "e", &["EMAIL"]).await;
    // SES takes no idempotency key: told twice rather than not at all.
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["answer_dropped", "accepted"]);
    let send = send(&stack, "EMAIL").await;
    assert_eq!((&send["status"], &send["attempt_count"]), (&json!("SENT"), &json!(2)), "{send}");
}

#[tokio::test]
async fn a_text_message_whose_answer_was_lost_is_held_for_an_operator() {
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("SMS", "drop_answer", Some(1)).await;
    announce(&stack, "e", &["SMS"]).await;
    stack.redeliver("e", 2).await;
    stack.sweep_for("sends").await;
    stack.idle().await;
    assert_eq!(outcomes(&stack.sent("SMS").await), ["answer_dropped"], "not sent again by anybody");
    assert_eq!(send(&stack, "SMS").await["status"], "UNCERTAIN");
    let letters = open_letters(&stack).await;
    assert_eq!(letters.len(), 1);
    assert!(letters[0]["reason"].as_str().is_some_and(|reason| reason.starts_with("UNCERTAIN, held for an operator")));
    // The operator says: send it.
    redrive(&stack, &letters[0]).await;
    assert_eq!(outcomes(&stack.sent("SMS").await), ["answer_dropped", "accepted"]);
    assert_eq!(send(&stack, "SMS").await["status"], "SENT");
}

#[tokio::test]
async fn each_channel_has_its_own_setting() {
    let stack =
        Stack::with(hasty(&[("BELFRY_EMAIL_WHEN_UNCERTAIN", "hold"), ("BELFRY_SMS_WHEN_UNCERTAIN", "resend")])).await;
    customer(&stack).await;
    stack.fault("EMAIL", "drop_answer", None).await;
    stack.fault("SMS", "drop_answer", None).await;
    announce(&stack, "e", &["EMAIL", "SMS"]).await;
    assert_eq!(stack.sent("EMAIL").await.len(), 1);
    assert_eq!(stack.sent("SMS").await.len(), 5, "and even then not for ever");
    assert_eq!(send(&stack, "SMS").await["status"], "FAILED");
}

#[tokio::test]
async fn a_slow_provider_is_asked_by_one_worker_alone() {
    let stack = Stack::with(hasty(&[("BELFRY_PROVIDER_TIME_LIMIT", "3s")])).await;
    customer(&stack).await;
    // It never answers; text messages are held after that, so whoever asks a second time is a second worker.
    stack.fault("SMS", "timeout", None).await;
    let mut event = announcement("e", "u", "t");
    event["payload"]["channels"] = json!(["SMS"]);
    event["payload"]["urgent"] = json!(true);
    stack.source().await.hand_in(&event).await;
    let processing = async || stack.column("sends", "status").await == ["PROCESSING"];
    while !processing().await {
        tokio::task::yield_now().await;
    }
    // The same order, several times, while the first worker waits: they find a live lease and put it back.
    let body = json!({"event_id": "e", "times": 3});
    let again = stack.call(Method::POST, "/local/redeliver", Some(body)).await.json();
    assert!(again["failed"].as_u64().is_some_and(|failed| failed >= 3), "put back, not acknowledged: {again}");
    stack.idle().await;
    assert_eq!(stack.sent("SMS").await.len(), 1);
    assert_eq!(send(&stack, "SMS").await["status"], "UNCERTAIN");
}
