//! Secrets: fetched when they are needed, and rotated, mended and denied without a restart.

use std::io;
use std::sync::{Arc, Mutex};

use domain::unsubscribe::UnsubscribeKey;
use domain::{Audience, UserId};
use futures_util::future::join_all;
use harness::{Stack, clients};
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::sends::{customer, hasty, open_letters, send};

const TEMPLATE: &str = include_str!("../../infra/template.yaml");

/// Rotates a secret of the stack.
async fn rotate(stack: &Stack, name: &str, value: Value) {
    let body = json!({"name": name, "value": value});
    let rotated = stack.call(Method::POST, "/local/secrets", Some(body)).await;
    assert_eq!(rotated.status, StatusCode::OK, "{}", rotated.text);
}

async fn stock(stack: &Stack, available: u64) {
    let body = json!({"available": available, "unit_price": 250, "currency": "EUR"});
    assert_eq!(stack.operator().await.put("/v1/inventory/a", &body).await.status, StatusCode::OK);
}

async fn place(stack: &Stack, key: &str) -> harness::Answer {
    let body = json!({"customer_id": "u", "lines": [{"stock_keeping_unit": "a", "quantity": 1}]});
    stack.customer("u").await.command("/v1/orders", key, &body).await
}

async fn payment_outcomes(stack: &Stack) -> Vec<String> {
    stack.sent("PAYMENT").await.into_iter().map(|(_, outcome)| outcome).collect()
}

#[tokio::test]
async fn a_rotated_payment_key_arrives_under_traffic_without_a_restart() {
    let stack = Stack::start().await;
    stock(&stack, 100).await;
    let orders = async |range: std::ops::Range<usize>| {
        let keys: Vec<String> = range.map(|n| format!("k-{n}")).collect();
        for placed in join_all(keys.iter().map(|key| place(&stack, key))).await {
            assert_eq!(placed.status, StatusCode::CREATED, "{}", placed.text);
        }
    };
    orders(0..5).await;
    stack.idle().await;
    let ((), ()) = tokio::join!(orders(5..15), rotate(&stack, "payment", json!({"key": "sk_test_rotated"})));
    orders(15..20).await;
    stack.idle().await;
    assert_eq!(stack.column("orders", "status").await, vec!["COMPLETED"; 20]);
    let outcomes = payment_outcomes(&stack).await;
    assert!(outcomes.iter().any(|outcome| outcome == "rejected"), "the old key was shown: {outcomes:?}");
    assert!(open_letters(&stack).await.is_empty());
}

/// A link as a mail has it, signed with a secret of the test's own.
fn link(secret: &str) -> String {
    let key = UnsubscribeKey::parse(secret).expect("a key");
    format!("/v1/unsubscribe/{}", key.sign(Audience::Customer, &UserId::parse("u").expect("an id")))
}

#[tokio::test]
async fn a_link_works_until_its_secret_was_rotated_twice() {
    let [first, second, third] = ["1", "2", "3"].map(|digit| digit.repeat(32));
    for (rotations, expected) in [
        (vec![&first], StatusCode::OK),
        (vec![&first, &second], StatusCode::OK),
        (vec![&first, &second, &third], StatusCode::NOT_FOUND),
    ] {
        let stack = Stack::start().await;
        customer(&stack).await;
        for secret in &rotations {
            rotate(&stack, "unsubscribe", json!(secret)).await;
        }
        let answer = stack.call(Method::POST, &link(&first), None).await;
        assert_eq!(answer.status, expected, "after {} rotations: {}", rotations.len() - 1, answer.text);
        stack.stop().await;
    }
}

#[tokio::test]
async fn a_link_signed_after_a_rotation_works_before_the_api_has_heard_of_it() {
    let [first, second] = ["1", "2"].map(|digit| digit.repeat(32));
    let stack = Stack::start().await;
    rotate(&stack, "unsubscribe", json!(first)).await;
    assert_eq!(stack.call(Method::GET, &link(&first), None).await.status, StatusCode::OK);
    rotate(&stack, "unsubscribe", json!(second)).await;
    assert_eq!(stack.call(Method::GET, &link(&second), None).await.status, StatusCode::OK);
    assert_eq!(stack.call(Method::GET, &link(&first), None).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_payment_waits_in_its_queue_while_its_secret_is_not_json() {
    let (log, _guard) = Log::start();
    let stack = Stack::start().await;
    rotate(&stack, "payment", json!("sk_plain_text")).await;
    stock(&stack, 1).await;
    assert_eq!(place(&stack, "k").await.status, StatusCode::CREATED);
    log.until(|lines| lines.iter().any(|line| line.contains("message failed; will retry"))).await;
    assert!(payment_outcomes(&stack).await.is_empty() && open_letters(&stack).await.is_empty());
    rotate(&stack, "payment", json!({"key": "sk_test_mended"})).await;
    stack.idle().await;
    assert_eq!(stack.column("orders", "status").await, ["COMPLETED"]);
    assert!(open_letters(&stack).await.is_empty());
    let errors: Vec<String> = log.lines().into_iter().filter(|line| line.contains("BELFRY_PAYMENT_SECRET")).collect();
    let [error, again] = errors.as_slice() else { panic!("a line when it fails, and one when it works: {errors:?}") };
    assert!(error.contains("ERROR") && error.contains("is not JSON with a key"), "{error}");
    assert!(again.contains("INFO"), "{again}");
    assert!(!log.lines().iter().any(|line| line.contains("sk_plain_text") || line.contains("sk_test_mended")));
}

#[tokio::test]
async fn a_mail_waits_without_counting_while_its_links_cannot_be_signed() {
    let (log, _guard) = Log::start();
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    rotate(&stack, "unsubscribe", json!("short")).await;
    let mut event = harness::announcement("e", "u", "Hear, hear");
    event["payload"]["channels"] = json!(["EMAIL"]);
    event["payload"]["urgent"] = json!(true);
    assert_eq!(stack.source().await.hand_in(&event).await.status, StatusCode::ACCEPTED);
    log.until(|lines| lines.iter().any(|line| line.contains("BELFRY_UNSUBSCRIBE_SECRET"))).await;
    while send(&stack, "EMAIL").await["last_error"].is_null() {
        tokio::task::yield_now().await;
    }
    let waiting = send(&stack, "EMAIL").await;
    assert_eq!(waiting["last_error"], "BELFRY_UNSUBSCRIBE_SECRET: the secret is not available", "{waiting}");
    rotate(&stack, "unsubscribe", json!("4".repeat(32))).await;
    stack.idle().await;
    let sent = send(&stack, "EMAIL").await;
    assert_eq!((&sent["status"], &sent["attempt_count"]), (&json!("SENT"), &json!(1)), "{sent}");
    assert_eq!(stack.sent("EMAIL").await.len(), 1);
}

/// The deployed template, with another resource in a statement about secrets.
fn another_secret(resource: &str, other: &str) -> Options {
    let statement = |name: &str| format!("Action: secretsmanager:GetSecretValue, Resource: !Ref {name} }}");
    let template = TEMPLATE.replace(&statement(resource), &statement(other));
    assert_ne!(template, TEMPLATE, "a statement about {resource}");
    Options { template: Some(template), ..Options::default() }
}

#[tokio::test]
async fn another_functions_secret_is_denied_and_the_message_stays() {
    let (log, _guard) = Log::start();
    let stack = Stack::with(another_secret("PaymentSecret", "FcmSecret")).await;
    stock(&stack, 1).await;
    assert_eq!(place(&stack, "k").await.status, StatusCode::CREATED);
    log.until(|lines| lines.iter().any(|line| line.contains("message failed; will retry"))).await;
    let lines = log.lines();
    let lines: Vec<&String> = lines.iter().filter(|line| line.contains("BELFRY_PAYMENT_SECRET")).collect();
    let [line] = lines.as_slice() else { panic!("one line: {lines:?}") };
    assert!(line.contains("ERROR") && line.contains("AccessDeniedException"), "{line}");
    let rights = stack.call(Method::GET, "/local/rights", None).await.text;
    let denied = r#""denied":[{"action":"secretsmanager:GetSecretValue","resource":"arn:aws:secretsmanager:us-east-1:000000000000:secret:belfry-local-payment"}]"#;
    assert!(rights.contains(denied), "{rights}");
    assert!(open_letters(&stack).await.is_empty() && payment_outcomes(&stack).await.is_empty());
}

#[tokio::test]
async fn an_api_without_its_secret_answers_unavailable_and_serves_the_rest() {
    let stack = Stack::with(another_secret("UnsubscribeSecret", "FcmSecret")).await;
    for method in [Method::GET, Method::POST] {
        let url = format!("{}{}", stack.url(), link(&"1".repeat(32)));
        let answer = clients::http().request(method, url).send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(answer.headers().contains_key("retry-after"));
        assert_eq!(answer.json::<Value>().await.expect("JSON")["code"], "UNAVAILABLE");
    }
    assert_eq!(stack.shop().await.grant("k", "u", "s").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_secret_that_the_stack_does_not_have_is_not_created_by_rotating_it() {
    let stack = Stack::start().await;
    let body = json!({"name": "nobody", "value": "v"});
    let refused = stack.call(Method::POST, "/local/secrets", Some(body)).await;
    assert_eq!((refused.status, refused.code().as_str()), (StatusCode::NOT_FOUND, "NOT_FOUND"));
    assert!(refused.text.contains("belfry-local-payment"), "{}", refused.text);
}

#[tokio::test]
async fn orders_are_not_enabled_without_a_payment_secret() {
    let parameters = [("PaymentSecret".to_owned(), String::new())].into();
    let stack = Stack::with(Options { parameters, ..Options::default() }).await;
    stock(&stack, 1).await;
    let refused = place(&stack, "k").await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND, "{}", refused.text);
    assert_eq!(refused.json(), json!({"code": "NOT_FOUND", "message": "orders are not enabled"}));
    // Whatever the order looks like, and nothing of it is kept.
    let empty = stack.customer("u").await.command("/v1/orders", "l", &json!({})).await;
    assert_eq!(empty.status, StatusCode::NOT_FOUND, "{}", empty.text);
    assert_eq!((stack.count("orders").await, stack.count("idempotency-keys").await), (0, 0));
    // Everybody else is refused as before.
    let stranger = stack.caller("x", "RESTAURANT_USER", &[]).await.command("/v1/orders", "m", &json!({})).await;
    assert_eq!(stranger.status, StatusCode::FORBIDDEN, "{}", stranger.text);
}

/// What the functions of this test log. They run on its thread.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().json().without_time().with_writer(move || writer.clone());
        let guard = tracing::subscriber::set_default(lines.with_max_level(tracing::Level::INFO).finish());
        (log, guard)
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.0.lock().expect("unpoisoned")).into_owned();
        text.lines().map(str::to_owned).collect()
    }

    async fn until(&self, is_so: impl Fn(&[String]) -> bool) {
        let waited = async {
            while !is_so(&self.lines()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), waited).await.expect("it is logged");
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("unpoisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
