//! The story of an event, from the command to what became of it.

use harness::{Fault, Stack, announcement};
use local::Options;
use reqwest::Method;
use serde_json::{Value, json};

const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn stages(story: &Value) -> Vec<&str> {
    story["story"].as_array().expect("stages").iter().map(|stage| stage["stage"].as_str().expect("text")).collect()
}

#[tokio::test]
async fn a_grants_story_goes_from_the_command_to_the_notification_in_one_trace() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let body = json!({"user_id": "u", "stock_keeping_unit": "s", "reason": "r", "purchase_id": "p"});
    let request = shop.request(Method::POST, "/v1/entitlements/grants").header("idempotency-key", "k");
    shop.send(request.header("traceparent", TRACEPARENT).json(&body)).await;
    stack.idle().await;
    let event_id = stack.column("events", "event_id").await.remove(0);
    let story = stack.operator().await.get(&format!("/v1/events/{event_id}")).await.json();
    assert_eq!(story["story"][0]["stage"], "COMMITTED", "{story}");
    // A consumer can be faster than the relay, which marks an event PUBLISHED when every queue has acknowledged it.
    let mut seen = stages(&story);
    seen.sort_unstable();
    // Nothing is known of this customer: told in the inbox, and through no channel.
    let expected = ["COMMITTED", "NOTIFICATION", "NOTIFIED", "PROCESSED", "PUBLISHED", "SKIPPED", "SKIPPED"];
    assert_eq!(seen, expected, "{story}");
    assert_eq!(
        (story["event_type"].as_str(), story["status"].as_str()),
        (Some("EntitlementGranted"), Some("PUBLISHED"))
    );
    assert_eq!((story["aggregate_type"].as_str(), story["aggregate_id"].as_str()), (Some("Entitlement"), Some("u#s")));
    assert_eq!(story["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(story["story"][0]["by"], "shop");
    let processed = story["story"].as_array().expect("stages").iter().find(|stage| stage["stage"] == "PROCESSED");
    assert_eq!(processed.expect("a stage")["consumer"], "fanout:CUSTOMER");
    let times: Vec<&str> =
        story["story"].as_array().expect("stages").iter().map(|s| s["at"].as_str().expect("a time")).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(stack.operator().await.get("/v1/events/none").await.code(), "NOT_FOUND");
}

#[tokio::test]
async fn a_story_tells_of_failures_dead_letters_and_who_redrove_them() {
    let settings = [("BELFRY_RECEIVE_COUNT".to_owned(), "1".to_owned())].into();
    let stack = Stack::behind_a_proxy_with(Options { settings, ..Options::default() }).await;
    stack.proxy().break_next("TransactWriteItems", &[Fault::Throttled; 8]);
    stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::NotSent; 3]);
    stack.source().await.hand_in(&announcement("e", "u", "t")).await;
    stack.idle().await;
    let operator = stack.operator().await;
    let story = operator.get("/v1/events/e").await.json();
    assert_eq!(stages(&story), ["COMMITTED", "NOT_PUBLISHED", "PUBLISHED", "DEAD_LETTER"], "{story}");
    let letter = story["story"][3]["dead_letter_id"].as_str().expect("an id").to_owned();
    operator.order(&format!("/v1/dead-letters/{letter}/redrive"), "r").await;
    stack.idle().await;
    let story = operator.get("/v1/events/e").await.json();
    let seen = stages(&story);
    assert_eq!(seen[..5], ["COMMITTED", "NOT_PUBLISHED", "PUBLISHED", "DEAD_LETTER", "REDRIVEN"], "{story}");
    let mut told = seen[5..].to_vec();
    told.sort_unstable();
    assert_eq!(told, ["NOTIFICATION", "NOTIFIED", "PROCESSED", "SKIPPED", "SKIPPED"], "{story}");
    assert_eq!(story["story"][4]["by"], "omar");
    // The audit is an event of its own, by the operator.
    let audit = stack
        .items("events")
        .await
        .into_iter()
        .find(|item| item["event_type"].as_s().is_ok_and(|t| t == "DeadLetterRedriven"));
    assert_eq!(audit.expect("an audit entry")["actor"].as_s().expect("text"), "omar");
}

#[tokio::test]
async fn a_message_names_its_event_and_its_trace_without_its_body_being_parsed() {
    let template = Some(harness::template_without(harness::CUSTOMER_MAPPING));
    let stack = Stack::with(Options { template, ..Options::default() }).await;
    let source = stack.source().await;
    let request = source.request(Method::POST, "/v1/events").header("traceparent", TRACEPARENT);
    source.send(request.json(&announcement("e-1", "u", "t"))).await;
    stack.idle().await;
    let url = stack.queue_url("fanout-customer").await;
    let received = stack.sqs().await.receive_message().queue_url(url).message_attribute_names("All").send().await;
    let message = received.expect("an answer").messages.expect("a message").remove(0);
    let attributes = message.message_attributes.clone().unwrap_or_default();
    let attribute = |name: &str| attributes.get(name).and_then(|value| value.string_value.clone()).unwrap_or_default();
    let named = ["event_id", "event_type", "aggregate_type", "aggregate_id", "recipient_type"].map(attribute);
    assert_eq!(named, ["e-1", "Announcement", "Campaign", "c-1", "CUSTOMER"]);
    assert!(domain::Time::parse(&attribute("occurred_at")).is_ok());
    let trace = domain::Trace::parse(&attribute("traceparent")).expect("a trace");
    assert_eq!(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_ne!(trace.to_string(), TRACEPARENT, "a span of our own");
    let envelope: Value = serde_json::from_str(message.body().unwrap_or_default()).expect("JSON");
    assert_eq!((envelope["specversion"].as_str(), envelope["type"].as_str()), (Some("1.0"), Some("Announcement")));
    assert_eq!(envelope["traceparent"], trace.to_string());
}
