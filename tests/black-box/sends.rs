//! Sends: each notification through each of its channels once, whatever the providers and the queues do.

use std::collections::BTreeMap;
use std::time::Duration;

use harness::{Fault, SENDS_MAPPING, Stack, announcement, clients, template_without};
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// Settings under which a retry is due at once.
pub fn hasty(more: &[(&str, &str)]) -> Options {
    let hasty = [("BELFRY_BACKOFF_BASE", "1ms"), ("BELFRY_PROVIDER_TIME_LIMIT", "1s")];
    let settings = hasty.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Options { settings: settings.collect(), ..Options::default() }
}

/// An announcement to the customer `u` through these channels.
pub async fn announce(stack: &Stack, event_id: &str, channels: &[&str]) {
    let mut event = announcement(event_id, "u", "Hear, hear");
    event["payload"]["channels"] = json!(channels);
    event["payload"]["urgent"] = json!(true);
    let answer = stack.source().await.hand_in(&event).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text);
    stack.idle().await;
}

/// The customer `u`, with an address for every channel.
pub async fn customer(stack: &Stack) {
    let details = json!({
        "name": "Una", "email": "una@example.com", "phone": "+390612345678", "push_tokens": ["token-1", "token-2"],
        "slack_webhook_url": "https://hooks.slack.com/services/T1/B1/secret",
    });
    stack.recipient("CUSTOMER", "u", details).await;
}

/// The send of the only notification of `u` through a channel, as operators see it.
pub async fn send(stack: &Stack, channel: &str) -> Value {
    let inbox = stack.operator().await.get("/debug/notification/inbox/u?user_type=CUSTOMER").await.json();
    let sends = inbox["notifications"][0]["sends"].as_array().cloned().unwrap_or_default();
    sends.into_iter().find(|send| send["channel"] == channel).unwrap_or_else(|| panic!("no {channel} in {inbox}"))
}

pub fn outcomes(sent: &[(String, String)]) -> Vec<&str> {
    sent.iter().map(|(_, outcome)| outcome.as_str()).collect()
}

pub async fn open_letters(stack: &Stack) -> Vec<Value> {
    stack.operator().await.all("/v1/dead-letters?status=OPEN", "dead_letters").await
}

pub async fn redrive(stack: &Stack, letter: &Value) {
    let id = letter["dead_letter_id"].as_str().expect("an id");
    let redriven = stack.operator().await.order(&format!("/v1/dead-letters/{id}/redrive"), id).await;
    assert_eq!(redriven.status, StatusCode::OK, "{}", redriven.text);
    stack.idle().await;
}

#[tokio::test]
async fn twenty_five_staff_are_told_through_three_channels_once_each() {
    let stack = Stack::start().await;
    let person = |n: usize| {
        let details = json!({
            "name": format!("S{n}"), "restaurant_id": "r", "email": format!("s{n}@example.com"),
            "phone": format!("+3906000{n:04}"), "push_tokens": [format!("token-{n}")],
        });
        (format!("s-{n}"), details)
    };
    stack.recipients("RESTAURANT_USER", (0..25).map(person)).await;
    let body = json!({
        "customer_id": "u", "restaurant_id": "r", "party_size": 2, "slot_time": "2030-01-01T19:00:00Z",
    });
    let asked = stack.shop().await.command("/v1/reservations", "k", &body).await;
    assert_eq!(asked.status, StatusCode::CREATED, "{}", asked.text);
    stack.idle().await;
    let event_id = stack.column("events", "event_id").await.remove(0);
    for _ in 0..2 {
        for channel in ["EMAIL", "SMS", "PUSH"] {
            let mut reached: BTreeMap<String, usize> = BTreeMap::new();
            for (to, outcome) in stack.sent(channel).await {
                assert_eq!(outcome, "accepted");
                *reached.entry(to).or_default() += 1;
            }
            assert_eq!((reached.len(), reached.values().max()), (25, Some(&1)), "{channel}: {reached:?}");
        }
        assert!(stack.sent("SLACK").await.is_empty(), "nobody has a webhook");
        // Every record and every message of the whole chain comes again, twice.
        assert!(stack.redeliver(&event_id, 2).await > 75 * 2);
        stack.idle().await;
    }
    let statuses = stack.column("sends", "status").await;
    let count = |status: &str| statuses.iter().filter(|one| *one == status).count();
    // 25 have no webhook; the customer, of whom nothing is known, has neither mail nor push.
    assert_eq!((count("SENT"), count("SKIPPED"), statuses.len()), (75, 27, 102));
    assert_eq!(stack.metric("Sent").await, 75);
}

#[tokio::test]
async fn a_provider_that_fails_three_times_gets_it_the_fourth_time() {
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("EMAIL", "error", Some(3)).await;
    announce(&stack, "e", &["EMAIL"]).await;
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["error", "error", "error", "accepted"]);
    let send = send(&stack, "EMAIL").await;
    assert_eq!((&send["status"], &send["attempt_count"]), (&json!("SENT"), &json!(4)), "{send}");
    assert!(send["sent_at"].is_string());
    assert!(open_letters(&stack).await.is_empty());
}

#[tokio::test]
async fn a_provider_that_always_fails_ends_in_a_dead_letter_that_can_be_redriven() {
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("SLACK", "error", None).await;
    announce(&stack, "e", &["SLACK", "EMAIL"]).await;
    assert_eq!(stack.sent("SLACK").await.len(), 5);
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["accepted"], "one channel holds no other up");
    let failed = send(&stack, "SLACK").await;
    assert_eq!((&failed["status"], &failed["attempt_count"]), (&json!("FAILED"), &json!(5)), "{failed}");
    let letters = open_letters(&stack).await;
    assert_eq!(letters.len(), 1, "{letters:?}");
    let letter = &letters[0];
    assert_eq!((&letter["queue"], &letter["consumer"]), (&json!("deliver-slack"), &json!("deliver:SLACK")));
    assert_eq!((&letter["event_id"], &letter["event_type"]), (&json!("e"), &json!("Announcement")));
    assert!(letter["reason"].as_str().is_some_and(|reason| reason.starts_with("FAILED after 5 attempts: slack: ")));

    // A message that comes again is not a redrive.
    stack.redeliver("e", 2).await;
    assert_eq!(stack.sent("SLACK").await.len(), 5);
    stack.fault("SLACK", "ok", None).await;
    redrive(&stack, letter).await;
    assert_eq!(stack.sent("SLACK").await.last().map(|(_, outcome)| outcome.as_str()), Some("accepted"));
    stack.redeliver("e", 2).await;
    stack.idle().await;
    assert_eq!(stack.sent("SLACK").await.len(), 6);
    assert_eq!(send(&stack, "SLACK").await["status"], "SENT");
    assert_eq!(stack.metric("SendFailed").await, 1);

    let story = stack.operator().await.get("/v1/events/e").await.json();
    let stages: Vec<&str> =
        story["story"].as_array().expect("a story").iter().filter_map(|s| s["stage"].as_str()).collect();
    for (stage, times) in [("NOTIFICATION", 1), ("SEND_ATTEMPT", 7), ("DEAD_LETTER", 1), ("REDRIVEN", 1), ("SENT", 2)] {
        assert_eq!(stages.iter().filter(|one| **one == stage).count(), times, "{stage} in {stages:?}");
    }
}

#[tokio::test]
async fn an_outage_postpones_and_never_counts() {
    let stack = Stack::with(hasty(&[("BELFRY_SEND_ATTEMPTS", "2")])).await;
    customer(&stack).await;
    stack.fault("EMAIL", "unavailable", Some(4)).await;
    announce(&stack, "e", &["EMAIL"]).await;
    let expected = ["unavailable", "unavailable", "unavailable", "unavailable", "accepted"];
    assert_eq!(outcomes(&stack.sent("EMAIL").await), expected);
    let send = send(&stack, "EMAIL").await;
    assert_eq!((&send["status"], &send["attempt_count"]), (&json!("SENT"), &json!(1)), "{send}");
}

#[tokio::test]
async fn an_outage_is_given_up_on_after_the_channels_time() {
    let stack = Stack::with(hasty(&[("BELFRY_EMAIL_GIVE_UP_AFTER", "0s")])).await;
    customer(&stack).await;
    stack.fault("EMAIL", "unavailable", None).await;
    announce(&stack, "e", &["EMAIL"]).await;
    assert_eq!(stack.sent("EMAIL").await.len(), 1);
    assert_eq!(send(&stack, "EMAIL").await["status"], "FAILED");
    assert_eq!(open_letters(&stack).await.len(), 1);
}

#[tokio::test]
async fn a_message_that_is_refused_fails_at_once() {
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("EMAIL", "reject", None).await;
    announce(&stack, "e", &["EMAIL"]).await;
    assert_eq!(stack.sent("EMAIL").await.len(), 1);
    let send = send(&stack, "EMAIL").await;
    assert_eq!((&send["status"], &send["attempt_count"]), (&json!("FAILED"), &json!(1)), "{send}");
}

#[tokio::test]
async fn a_dead_token_is_removed_and_the_other_still_gets_it() {
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("PUSH", "reject", Some(1)).await;
    announce(&stack, "e", &["PUSH"]).await;
    let sent = stack.sent("PUSH").await;
    assert_eq!(outcomes(&sent), ["rejected", "accepted"]);
    assert_eq!(send(&stack, "PUSH").await["status"], "SENT");
    let una = stack.operator().await.get("/v1/recipients/CUSTOMER/u").await.json();
    assert_eq!(una["push_tokens"], json!([sent[1].0]), "the dead one is gone");
    // Nobody is left: not a failure, and nothing to redrive.
    stack.fault("PUSH", "reject", None).await;
    announce(&stack, "f", &["PUSH"]).await;
    announce(&stack, "g", &["PUSH"]).await;
    assert_eq!(stack.sent("PUSH").await.len(), 3, "without an address the provider is not asked");
    let statuses = stack.column("sends", "status").await;
    assert_eq!(statuses, ["SENT", "SKIPPED", "SKIPPED"]);
    assert!(open_letters(&stack).await.is_empty());
}

#[tokio::test]
async fn a_dead_webhook_is_suppressed_until_there_is_another() {
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("SLACK", "reject", Some(1)).await;
    announce(&stack, "e", &["SLACK"]).await;
    assert_eq!(send(&stack, "SLACK").await["last_error"], "suppressed");
    announce(&stack, "f", &["SLACK"]).await;
    // The same record again changes nothing.
    customer(&stack).await;
    announce(&stack, "g", &["SLACK"]).await;
    assert_eq!(stack.sent("SLACK").await.len(), 1);
    stack
        .recipient(
            "CUSTOMER",
            "u",
            json!({"name": "Una", "slack_webhook_url": "https://hooks.slack.com/services/T/B/new"}),
        )
        .await;
    announce(&stack, "h", &["SLACK"]).await;
    assert_eq!(stack.sent("SLACK").await[1], ("/services/T/B/new".to_owned(), "accepted".to_owned()));
}

#[tokio::test]
async fn what_cannot_or_must_not_be_sent_is_skipped_with_the_reason() {
    let stack = Stack::start().await;
    let off = json!([{"event_type": "Announcement", "channel": "PUSH", "enabled": false}]);
    stack.recipient("CUSTOMER", "u", json!({"name": "Una", "push_tokens": ["t"], "preferences": off})).await;
    announce(&stack, "e", &["PUSH", "EMAIL"]).await;
    let (push, email) = (send(&stack, "PUSH").await, send(&stack, "EMAIL").await);
    assert_eq!((&push["status"], &push["last_error"]), (&json!("SKIPPED"), &json!("opted out")));
    assert_eq!((&email["status"], &email["last_error"]), (&json!("SKIPPED"), &json!("no address")));
    assert_eq!(email["attempt_count"], 0);
    assert_eq!(stack.metric("Skipped").await, 2);
    assert!(stack.sent("PUSH").await.is_empty());
    // Nobody but operators sees how channels fare.
    let own = stack.customer("u").await.get("/v1/inbox").await.json();
    assert_eq!(own["notifications"][0].get("sends"), None);
}

#[tokio::test]
async fn a_channel_that_is_not_set_up_is_skipped() {
    let stack = Stack::with(hasty(&[("BELFRY_PUSH_ENABLED", "false")])).await;
    stack.recipient("CUSTOMER", "u", json!({"name": "Una", "push_tokens": ["t"], "email": "u@example.com"})).await;
    announce(&stack, "e", &["PUSH", "EMAIL"]).await;
    let (push, email) = (send(&stack, "PUSH").await, send(&stack, "EMAIL").await);
    assert_eq!((&push["status"], &push["last_error"]), (&json!("SKIPPED"), &json!("not set up")));
    assert_eq!(email["status"], "SENT");
    assert!(stack.sent("PUSH").await.is_empty());
}

#[tokio::test]
async fn a_wish_that_came_after_the_fan_out_still_counts() {
    let stack = Stack::with(hasty(&[("BELFRY_BACKOFF_BASE", "2s"), ("BELFRY_BACKOFF_JITTER_MIN", "1")])).await;
    customer(&stack).await;
    stack.fault("EMAIL", "error", Some(1)).await;
    let mut event = announcement("e", "u", "t");
    event["payload"]["channels"] = json!(["EMAIL"]);
    stack.source().await.hand_in(&event).await;
    while stack.sent("EMAIL").await.is_empty() {
        tokio::task::yield_now().await;
    }
    let off = json!([{"event_type": "*", "channel": "*", "enabled": false}]);
    stack.recipient("CUSTOMER", "u", json!({"name": "Una", "email": "una@example.com", "preferences": off})).await;
    stack.idle().await;
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["error"]);
    assert_eq!(send(&stack, "EMAIL").await["last_error"], "opted out");
}

#[tokio::test]
async fn a_mail_program_unsubscribes_with_one_click() {
    let stack = Stack::start().await;
    customer(&stack).await;
    announce(&stack, "e", &["EMAIL", "PUSH"]).await;
    let sent = stack.call(Method::GET, "/local/sent?channel=EMAIL", None).await.json();
    let headers = &sent["sent"][0]["headers"];
    assert_eq!(headers["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");
    let link = headers["List-Unsubscribe"].as_str().expect("a link").trim_matches(['<', '>']).to_owned();
    let path = link.strip_prefix(stack.url()).expect("a link of this API").to_owned();
    // As RFC 8058 has it: a form, and nothing that says who asks.
    let click = |path: String| {
        let request = clients::http().post(format!("{}{path}", stack.url()));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        async { request.body("List-Unsubscribe=One-Click").send().await.expect("an answer").status() }
    };
    assert_eq!(click(format!("{path}x")).await, StatusCode::NOT_FOUND, "a link that nobody signed");
    let looked = stack.call(Method::GET, &path, None).await;
    assert!(looked.status == StatusCode::OK && looked.text.contains("<form method=\"post\">"), "{}", looked.text);
    announce(&stack, "f", &["EMAIL"]).await;
    assert_eq!(stack.sent("EMAIL").await.len(), 2, "looking at the link changes nothing");
    assert_eq!(click(path.clone()).await, StatusCode::OK);
    assert_eq!(click(path).await, StatusCode::OK);
    announce(&stack, "g", &["EMAIL", "PUSH"]).await;
    assert_eq!(stack.sent("EMAIL").await.len(), 2);
    assert_eq!(stack.sent("PUSH").await.len(), 4, "only mail stops");
    assert_eq!(send(&stack, "EMAIL").await["last_error"], "opted out");
}

#[tokio::test]
async fn a_send_whose_message_was_lost_is_found_by_the_sweeper() {
    let template = Some(template_without(SENDS_MAPPING));
    let mut options = Options { template, ..hasty(&[("BELFRY_OUTBOX_GRACE", "0s")]) };
    options.settings.insert("BELFRY_BACKOFF_BASE".to_owned(), "1ms".to_owned());
    let stack = Stack::with(options).await;
    customer(&stack).await;
    announce(&stack, "e", &["EMAIL", "SMS"]).await;
    assert!(stack.sent("EMAIL").await.is_empty());
    let swept: u64 = futures_util::future::join_all((0..6).map(|_| stack.sweep_for("sends"))).await.into_iter().sum();
    assert_eq!(swept, 2, "any number of sweepers send for each once");
    stack.idle().await;
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["accepted"]);
    assert_eq!(outcomes(&stack.sent("SMS").await), ["accepted"]);
    assert_eq!(stack.sweep_for("sends").await, 0, "what is sent is not due");
}

#[tokio::test]
async fn a_sweeper_that_comes_too_late_leaves_a_fresh_claim_alone() {
    let template = Some(template_without(SENDS_MAPPING));
    let stack = Stack::behind_a_proxy_with(Options { template, ..hasty(&[("BELFRY_OUTBOX_GRACE", "0s")]) }).await;
    customer(&stack).await;
    announce(&stack, "e", &["EMAIL"]).await;
    // One sweeper finds the send overdue and is slow to look at it.
    stack.proxy().break_next_with("BatchGetItem", "belfry-local-sends", &[Fault::HeldBefore]);
    let slow = async {
        let swept = stack.sweep_for("sends").await;
        assert_eq!(swept, 0, "it is somebody's by now");
        // Whose it is, records it.
        stack.proxy().release("PutItem");
    };
    let quick = async {
        stack.proxy().held().await;
        stack.proxy().break_next_with("PutItem", "sent_at", &[Fault::HeldBefore]);
        assert_eq!(stack.sweep_for("sends").await, 1);
        stack.proxy().held().await;
        assert_eq!(stack.column("sends", "status").await, ["PROCESSING"]);
        stack.proxy().release("BatchGetItem");
    };
    tokio::join!(slow, quick);
    stack.idle().await;
    assert_eq!(stack.column("sends", "status").await, ["SENT"]);
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["accepted"]);
}

#[tokio::test]
async fn of_two_workers_that_read_the_same_send_one_claims_it() {
    let stack = Stack::behind_a_proxy_with(hasty(&[("BELFRY_OUTBOX_GRACE", "0s")])).await;
    customer(&stack).await;
    let mut event = announcement("e", "u", "t");
    event["payload"]["channels"] = json!(["EMAIL"]);
    // One has read it and is slow to claim it.
    stack.proxy().break_next_with("PutItem", "PROCESSING", &[Fault::HeldBefore]);
    stack.source().await.hand_in(&event).await;
    stack.proxy().held().await;
    assert_eq!(stack.sweep_for("sends").await, 1, "a message for another one");
    let sent = async {
        while stack.column("sends", "status").await != ["SENT"] {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), sent).await.expect("the other one sends it");
    stack.proxy().release("PutItem");
    stack.idle().await;
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["accepted"]);
    let send = send(&stack, "EMAIL").await;
    assert_eq!((&send["status"], &send["attempt_count"]), (&json!("SENT"), &json!(1)), "{send}");
}

#[tokio::test]
async fn a_token_that_has_it_is_not_asked_again_for_the_others_sake() {
    let stack = Stack::with(hasty(&[])).await;
    customer(&stack).await;
    stack.fault("PUSH", "error", Some(1)).await;
    announce(&stack, "e", &["PUSH"]).await;
    let sent = stack.sent("PUSH").await;
    assert_eq!(outcomes(&sent), ["error", "accepted", "accepted"], "{sent:?}");
    assert_eq!(sent[0].0, sent[2].0, "the one that failed is asked again, and no other: {sent:?}");
    assert_ne!(sent[0].0, sent[1].0, "{sent:?}");
    assert_eq!(send(&stack, "PUSH").await["status"], "SENT");
}

#[tokio::test]
async fn a_broken_answer_of_the_ledger_tells_nobody_twice() {
    // Each call that a delivery makes, broken once: not made, or made and its answer lost.
    for (call, table) in [("BatchGetItem", "belfry-local-sends"), ("PutItem", "PROCESSING"), ("PutItem", "sent_at")] {
        for fault in [Fault::NotSent, Fault::AnswerLost] {
            let stack = Stack::behind_a_proxy_with(hasty(&[])).await;
            customer(&stack).await;
            stack.proxy().break_next_with(call, table, &[fault]);
            announce(&stack, "e", &["EMAIL", "PUSH"]).await;
            assert_eq!(stack.proxy().unmet(), 0, "{call} with {table} was broken");
            assert_eq!(outcomes(&stack.sent("EMAIL").await), ["accepted"], "{call} {table} {fault:?}");
            assert_eq!(stack.sent("PUSH").await.len(), 2, "{call} {table} {fault:?}");
            assert_eq!(stack.column("sends", "status").await, ["SENT", "SENT"]);
        }
    }
}

#[tokio::test]
async fn what_is_no_order_is_a_dead_letter() {
    let stack = Stack::start().await;
    stack.inject("deliver-sms", "no order at all").await;
    let misled = json!({
        "event_id": "e", "notification_id": "018f0000-0000-7000-8000-000000000000", "channel": "EMAIL",
        "audience": "CUSTOMER", "user_id": "u", "group": "user:u",
    });
    stack.inject("deliver-sms", &misled.to_string()).await;
    stack.idle().await;
    let letters = open_letters(&stack).await;
    assert_eq!(letters.len(), 2, "{letters:?}");
    assert!(letters.iter().all(|letter| letter["queue"] == "deliver-sms"));
}
