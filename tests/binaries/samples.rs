//! The sample events tell one story: somebody is announced something, and buys something.

use harness::Stack;
use harness::lambda::FUNCTIONS;
use serde_json::{Value, json};

use crate::function::{ask, by_hand, environment, sample, start, twice};

#[tokio::test(flavor = "multi_thread")]
async fn an_announcement_goes_from_the_api_to_every_channel_once() {
    let stack = Stack::with(by_hand()).await;
    let mut api = start(&stack, "ApiFunction").await;
    assert_eq!(ask(&mut api, sample("api-recipient")).await.status, 200);
    for duplicate in [false, true] {
        let accepted = ask(&mut api, sample("api-event")).await;
        assert_eq!((accepted.status, &accepted.body["duplicate"]), (202, &json!(duplicate)));
    }

    let mut relay = start(&stack, "OutboxStreamFunction").await;
    twice(&mut relay, &sample("outbox-stream-event")).await;
    assert_eq!(stack.queued("fanout-customer").await, 1);
    assert_eq!(stack.column("events", "status").await, ["PUBLISHED"]);

    twice(&mut start(&stack, "FanoutFunction").await, &sample("fanout")).await;
    assert_eq!((stack.count("notifications").await, stack.count("sends").await), (1, 4));

    twice(&mut relay, &sample("outbox-stream-sends")).await;
    for (channel, function) in
        [("EMAIL", "DeliverEmail"), ("SMS", "DeliverSms"), ("PUSH", "DeliverPush"), ("SLACK", "DeliverSlack")]
    {
        let name = format!("deliver-{}", channel.to_lowercase());
        assert!(stack.queued(&name).await > 0, "{channel}: the relay has sent for it");
        twice(&mut start(&stack, &format!("{function}Function")).await, &sample(&name)).await;
        let outcomes: Vec<String> = stack.sent(channel).await.into_iter().map(|(_, outcome)| outcome).collect();
        assert_eq!(outcomes, ["accepted"], "{channel}");
    }
    assert_eq!(stack.column("sends", "status").await, ["SENT"; 4]);

    let inbox = ask(&mut api, sample("api-inbox")).await;
    assert_eq!((inbox.status, inbox.body["unread_count"].as_u64()), (200, Some(1)));
    assert_eq!(inbox.body["notifications"][0]["title"], "Table moved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_replayed_by_another_process() {
    let stack = Stack::with(by_hand()).await;
    let first = ask(&mut start(&stack, "ApiFunction").await, sample("api-grant")).await;
    let again = ask(&mut start(&stack, "ApiFunction").await, sample("api-grant")).await;
    assert_eq!((first.status, first.replayed, again.status, again.replayed), (200, false, 200, true));
    assert_eq!(first.body, again.body);
    assert_eq!(stack.count("events").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_reserved_charged_and_completed_once() {
    let stack = Stack::with(by_hand()).await;
    let mut api = start(&stack, "ApiFunction").await;
    assert_eq!(ask(&mut api, sample("api-stock")).await.status, 200);
    let placed = ask(&mut api, sample("api-order")).await;
    let order_id = placed.body["order_id"].as_str().expect("an order").to_owned();
    for (function, name) in
        [("InventoryFunction", "inventory"), ("PaymentFunction", "payment"), ("OrderFunction", "order")]
    {
        twice(&mut start(&stack, function).await, &of_order(&sample(name), &order_id)).await;
    }
    assert_eq!(stack.column("orders", "status").await, ["COMPLETED"]);
    assert_eq!(stack.column("payments", "status").await, ["CHARGED"]);
    let asked = stack.call(reqwest::Method::GET, "/local/sent?channel=PAYMENT", None).await;
    assert_eq!(asked.text.matches("/confirm\"").count(), 1, "{}", asked.text);
}

/// A sample's messages, of another order than the one that they were taken from.
fn of_order(sample: &Value, order_id: &str) -> Value {
    let body = sample["Records"][0]["body"].as_str().expect("a body");
    let body: Value = serde_json::from_str(body).expect("an envelope");
    let former = body["data"]["order_id"].as_str().expect("an order");
    serde_json::from_str(&sample.to_string().replace(former, order_id)).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_can_read_is_one_dead_letter() {
    let stack = Stack::with(by_hand()).await;
    twice(&mut start(&stack, "DeadLettersFunction").await, &sample("dead-letters")).await;
    assert_eq!(stack.column("dead-letters", "queue").await, ["fanout-customer"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_finds_nothing_to_do_on_an_empty_stack() {
    let stack = Stack::with(by_hand()).await;
    let mut sweep = start(&stack, "SweepFunction").await;
    for task in ["outbox", "sends", "orders", "anomalies"] {
        let swept = sweep.invoke(sample(&format!("sweep-{task}"))).await.answer();
        assert_eq!(swept, json!({"anomalies": 0, "published": 0, "unpublished": 0}), "{task}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_opens_one_socket() {
    let stack = Stack::with(by_hand()).await;
    let ticket = ask(&mut start(&stack, "ApiFunction").await, sample("api-live-ticket")).await;
    let mut live = start(&stack, "LiveFunction").await;
    let unknown = live.invoke(sample("live-connect")).await.answer();
    assert_eq!(unknown["statusCode"], 401, "the sample's own ticket is none");

    let mut connect = sample("live-connect");
    connect["queryStringParameters"]["ticket"] = ticket.body["ticket"].clone();
    assert_eq!(live.invoke(connect.clone()).await.answer()["statusCode"], 200);
    assert!(stack.count("connections").await > 0);
    connect["requestContext"]["connectionId"] = json!("another=");
    assert_eq!(live.invoke(connect).await.answer()["statusCode"], 401, "a ticket is used once");
    assert_eq!(live.invoke(sample("live-disconnect")).await.answer()["statusCode"], 200);
    assert_eq!(stack.count("connections").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_of_the_template_is_a_binary_that_starts() {
    let stack = Stack::with(by_hand()).await;
    let all = stack.call(reqwest::Method::GET, "/local/environment", None).await.json();
    let known: Vec<&String> = all.as_object().expect("functions").keys().collect();
    assert_eq!(known, FUNCTIONS.map(|(function, _)| function));
    for (function, _) in FUNCTIONS {
        start(&stack, function).await.until_first_poll().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_misses_a_setting_says_which_and_ends() {
    let stack = Stack::with(by_hand()).await;
    for (function, setting) in [
        ("ApiFunction", "BELFRY_EVENTS_TABLE"),
        ("FanoutFunction", "BELFRY_PROCESSED_TABLE"),
        ("DeliverSmsFunction", "BELFRY_SMS_ORIGINATION"),
        ("SweepFunction", "AWS_REGION"),
    ] {
        let mut environment = environment(&stack, function).await;
        environment.remove(setting).unwrap_or_else(|| panic!("{function} has no {setting}"));
        let mut process = harness::lambda::Lambda::start(crate::function::binary(function), &environment).await;
        assert!(!process.ended().await.success(), "{function} without {setting}");
        let said = process.said().await;
        assert!(said.contains(setting), "{function}: {said}");
    }
}
