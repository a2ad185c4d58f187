//! Sends that are given up, or that nobody can work on: nothing of them is lost, and an operator sees each.

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{Fault, SENDS_MAPPING, Stack, switched_off, template_without};
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::live::change;
use crate::sends::{announce, customer, hasty, open_letters, outcomes, redrive, send};

/// The line that the mapping of the queue for e-mail begins with.
const EMAIL_MAPPING: &str = "{ Queue: !GetAtt DeliverEmailQueue.Arn";

/// A stack whose sends are found by the sweeper alone, with so many in a batch; it is behind a proxy.
async fn swept_only(batch: &str, template: String) -> Stack {
    let options = hasty(&[("BELFRY_OUTBOX_GRACE", "0s"), ("BELFRY_OUTBOX_BATCH", batch)]);
    let stack = Stack::behind_a_proxy_with(Options { template: Some(template), ..options }).await;
    customer(&stack).await;
    stack
}

/// Changes an attribute of the only send of an event.
pub async fn change_send(stack: &Stack, event_id: &str, expression: &str, value: AttributeValue) {
    let items = stack.items("sends").await;
    let text = |item: &std::collections::HashMap<String, AttributeValue>, name: &str| {
        item.get(name).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default()
    };
    let item = items.iter().find(|item| text(item, "event_id") == event_id).expect("a send");
    let key = [("event_part", text(item, "event_part")), ("send", text(item, "send"))];
    let key: Vec<(&str, &str)> = key.iter().map(|(name, value)| (*name, value.as_str())).collect();
    change(stack, "sends", &key, expression, value).await;
}

/// The order for the only send there is.
async fn order(stack: &Stack) -> String {
    let item = stack.items("sends").await.remove(0);
    let names = ["event_id", "notification_id", "channel", "audience", "user_id", "group"];
    let order = names.map(|name| (name.to_owned(), Value::from(item[name].as_s().expect("text").as_str())));
    Value::Object(order.into_iter().collect()).to_string()
}

/// How many tokens the only recipient has.
async fn push_tokens(stack: &Stack) -> usize {
    let recipients = stack.items("recipients").await;
    recipients[0]["push_tokens"].as_l().expect("a list").len()
}

async fn anomalies(stack: &Stack) -> Value {
    let event = json!({"function": "SweepFunction", "event": {"task": "anomalies"}});
    stack.call(Method::POST, "/local/invoke", Some(event)).await.json()["response"]["anomalies"].clone()
}

#[tokio::test]
async fn an_outcome_is_kept_where_a_dead_address_cannot_be_forgotten() {
    let stack = Stack::behind_a_proxy_with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("PUSH", "reject", Some(1)).await;
    // Neither together with the outcome nor after it.
    stack.proxy().break_next_with("TransactWriteItems", "belfry-local-recipients", &[Fault::Throttled; 8]);
    stack.proxy().break_next_with("PutItem", "belfry-local-recipients", &[Fault::Throttled; 8]);
    announce(&stack, "e", &["PUSH"]).await;
    assert_eq!(stack.proxy().unmet(), 0);
    assert_eq!(outcomes(&stack.sent("PUSH").await), ["rejected", "accepted"]);
    assert_eq!(send(&stack, "PUSH").await["status"], "SENT");
    assert_eq!(push_tokens(&stack).await, 2);
}

#[tokio::test]
async fn a_dead_address_that_cannot_be_forgotten_with_the_outcome_is_forgotten_after_it() {
    let stack = Stack::behind_a_proxy_with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("PUSH", "reject", Some(1)).await;
    stack.proxy().break_next_with("TransactWriteItems", "belfry-local-recipients", &[Fault::Throttled; 8]);
    announce(&stack, "e", &["PUSH"]).await;
    assert_eq!(stack.proxy().unmet(), 0);
    assert_eq!(outcomes(&stack.sent("PUSH").await), ["rejected", "accepted"]);
    assert_eq!(send(&stack, "PUSH").await["status"], "SENT");
    assert_eq!(push_tokens(&stack).await, 1);
}

#[tokio::test]
async fn an_outcome_is_recorded_by_its_claim_however_long_the_ledger_is_away() {
    let stack = Stack::behind_a_proxy_with(hasty(&[])).await;
    customer(&stack).await;
    // More than the ledger's own patience, twice.
    stack.proxy().break_next_with("PutItem", "sent_at", &[Fault::Throttled; 20]);
    announce(&stack, "e", &["EMAIL"]).await;
    assert_eq!(stack.proxy().unmet(), 0);
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["accepted"]);
    let send = send(&stack, "EMAIL").await;
    assert_eq!((&send["status"], &send["attempt_count"]), (&json!("SENT"), &json!(1)), "{send}");
}

#[tokio::test]
async fn a_redriven_order_that_dies_opens_its_dead_letter_again() {
    let stack = Stack::behind_a_proxy_with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("EMAIL", "reject", Some(1)).await;
    announce(&stack, "e", &["EMAIL"]).await;
    let letter = open_letters(&stack).await.remove(0);
    // An order that dies without having been redriven is not needed: the letter is there.
    stack.inject("deliver-email-dlq", letter["body"].as_str().expect("a body")).await;
    stack.idle().await;
    assert_eq!(open_letters(&stack).await, std::slice::from_ref(&letter));
    // No receive can claim the send, and the queue gives the order up.
    stack.proxy().break_next_with("PutItem", "PROCESSING", &[Fault::Throttled; 200]);
    redrive(&stack, &letter).await;
    stack.proxy().mend();
    let open = open_letters(&stack).await;
    assert_eq!(open.len(), 1, "somebody has to redrive it again");
    assert_eq!(open[0]["dead_letter_id"], letter["dead_letter_id"]);
    assert!(open[0]["reason"].as_str().is_some_and(|reason| reason.starts_with("consumer crashed")), "{}", open[0]);
    let again = stack.operator().await;
    let path = format!("/v1/dead-letters/{}/redrive", letter["dead_letter_id"].as_str().expect("an id"));
    assert_eq!(again.order(&path, "again").await.status, StatusCode::OK);
    stack.idle().await;
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["rejected", "accepted"]);
    assert!(open_letters(&stack).await.is_empty());
}

#[tokio::test]
async fn discarding_the_letter_of_a_held_send_ends_the_send() {
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("SMS", "drop_answer", Some(1)).await;
    announce(&stack, "e", &["SMS"]).await;
    assert_eq!(send(&stack, "SMS").await["status"], "UNCERTAIN");
    let letter = open_letters(&stack).await.remove(0);
    assert_eq!(stack.metric("DeadLetters").await, 1, "a held send is counted as what it is");
    let path = format!("/v1/dead-letters/{}/discard", letter["dead_letter_id"].as_str().expect("an id"));
    let operator = stack.operator().await;
    let discarded = operator.order(&path, "d").await;
    assert_eq!(discarded.json()["status"], "DISCARDED", "{}", discarded.text);
    let ended = send(&stack, "SMS").await;
    assert_eq!((&ended["status"], &ended["attempt_count"]), (&json!("FAILED"), &json!(1)), "{ended}");
    let reason = ended["last_error"].as_str().expect("a reason");
    assert!(reason.ends_with("; discarded by an operator"), "{reason}");
    assert!(operator.order(&path, "d").await.replayed);
    assert_eq!(operator.order(&path, "d-2").await.code(), "ALREADY_HANDLED");
}

#[tokio::test]
async fn what_cannot_be_read_is_a_dead_letter_and_holds_no_other_up() {
    let stack = swept_only("1", template_without(SENDS_MAPPING)).await;
    announce(&stack, "e", &["EMAIL"]).await;
    change_send(&stack, "e", "SET attempt_count = :value", AttributeValue::S("many".to_owned())).await;
    let order = order(&stack).await;
    for queue in ["deliver-email", "deliver-email-dlq", "deliver-email"] {
        stack.inject(queue, &order).await;
        stack.idle().await;
    }
    let letters = open_letters(&stack).await;
    assert_eq!(letters.len(), 1, "one of the send, wherever the order died: {letters:?}");
    let reason = letters[0]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("corrupt item in sends"), "{reason}");
    // The batch holds one send, and the first is the one that cannot be read.
    announce(&stack, "f", &["SMS"]).await;
    let swept = stack.sweep_for("sends").await + stack.sweep_for("sends").await;
    assert_eq!(swept, 1);
    stack.idle().await;
    assert_eq!(outcomes(&stack.sent("SMS").await), ["accepted"]);
}

#[tokio::test]
async fn poison_on_a_channels_queue_is_counted_as_a_dead_letter_and_not_as_a_duplicate() {
    let stack = Stack::start().await;
    stack.inject("deliver-email", "poison").await;
    stack.idle().await;
    assert_eq!(open_letters(&stack).await.len(), 1);
    assert_eq!((stack.metric("DeadLetters").await, stack.metric("SendDuplicates").await), (1, 0));
}

#[tokio::test]
async fn a_recipient_who_cannot_be_read_fails_the_send_and_not_the_worker() {
    let stack = swept_only("50", template_without(SENDS_MAPPING)).await;
    announce(&stack, "e", &["EMAIL"]).await;
    let key = [("recipient", "CUSTOMER#u")];
    change(&stack, "recipients", &key, "SET push_tokens = :value", AttributeValue::S("none".to_owned())).await;
    assert_eq!(stack.sweep_for("sends").await, 1);
    stack.idle().await;
    assert_eq!(stack.column("sends", "status").await, ["FAILED"]);
    let letters = open_letters(&stack).await;
    assert_eq!(letters.len(), 1);
    assert!(letters[0]["reason"].as_str().is_some_and(|reason| reason.contains("corrupt item in recipients")));
}

#[tokio::test]
async fn a_queue_that_is_away_holds_no_other_queues_sends_up() {
    let stack = swept_only("1", template_without(SENDS_MAPPING)).await;
    for event_id in ["e-1", "e-2", "e-3"] {
        announce(&stack, event_id, &["EMAIL"]).await;
    }
    announce(&stack, "e-4", &["SMS"]).await;
    stack.sqs_proxy().break_next_with("SendMessageBatch", "deliver-email", &[Fault::NotSent; 50]);
    assert_eq!(stack.sweep_for("sends").await, 1, "the text message, though three mails were due before it");
    stack.sqs_proxy().mend();
    assert_eq!(stack.sweep_for("sends").await, 3);
    stack.idle().await;
    assert_eq!((stack.sent("EMAIL").await.len(), stack.sent("SMS").await.len()), (3, 1));
}

#[tokio::test]
async fn a_send_that_is_swept_again_and_again_is_an_anomaly_and_still_swept() {
    let nobody = switched_off(&template_without(SENDS_MAPPING), EMAIL_MAPPING);
    let stack = swept_only("50", nobody).await;
    let details = json!({"name": "Una", "email": "una@example.com"});
    stack.recipient("CUSTOMER", "u", details).await;
    announce(&stack, "e", &["EMAIL"]).await;
    for times in 0..7 {
        let expected = u64::from(times >= 5);
        assert_eq!((anomalies(&stack).await, times), (json!(expected), times));
        assert_eq!(stack.sweep_for("sends").await, 1);
        assert_eq!(stack.sweep_for("sends").await, 0, "not before its time");
        // Recent enough not to count as never swept, and past.
        let due = domain::Time::now().minus(std::time::Duration::from_secs(1)).to_string();
        change_send(&stack, "e", "SET due_at = :value", AttributeValue::S(due)).await;
    }
    assert_eq!(stack.metric("SendsStale").await, 0);
    let long_ago = domain::Time::now().minus(std::time::Duration::from_secs(31 * 86_400)).to_string();
    change_send(&stack, "e", "SET opened_at = :value", AttributeValue::S(long_ago)).await;
    assert_eq!(anomalies(&stack).await, 2, "stuck, and older than sends are kept");
}
