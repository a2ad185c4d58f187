//! Functions that fail in part, fail whole, and die.

use std::os::unix::process::ExitStatusExt;

use harness::lambda::Outcome;
use harness::{Fault, Stack};
use serde_json::{Value, json};

use crate::function::{ask, by_hand, sample, start};

const SIGTERM: i32 = 15;

/// A batch of the sample's message and two more like it, each of an event of its own.
fn three(sample: &Value, part: &str) -> Value {
    let records = ["1", "2", "3"].map(|number| {
        let record = sample["Records"][0].to_string();
        let record = record.replace("sample-announcement-1", &format!("sample-announcement-{number}"));
        let mut record: Value = serde_json::from_str(&record).expect("JSON");
        match part {
            "messageId" => record["messageId"] = json!(number),
            _ => record["dynamodb"]["SequenceNumber"] = json!(number),
        }
        record
    });
    json!({"Records": records})
}

/// Stores the sample's recipient, and hands in the sample's event and two more like it.
async fn announced(stack: &Stack) {
    let mut api = start(stack, "ApiFunction").await;
    assert_eq!(ask(&mut api, sample("api-recipient")).await.status, 200);
    for number in ["1", "2", "3"] {
        let event = sample("api-event").to_string();
        let event = event.replace("sample-announcement-1", &format!("sample-announcement-{number}"));
        assert_eq!(ask(&mut api, serde_json::from_str(&event).expect("JSON")).await.status, 202);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_of_a_batch_that_fails_is_the_only_one_to_come_again() {
    let stack = Stack::behind_a_proxy_with(by_hand()).await;
    announced(&stack).await;
    let mut fanout = start(&stack, "FanoutFunction").await;
    let batch = three(&sample("fanout"), "messageId");
    stack.proxy().break_next_with("TransactWriteItems", "sample-announcement-2", &[Fault::Throttled; 50]);
    let answer = fanout.invoke(batch.clone()).await;
    assert_eq!(answer, Outcome::Answered(json!({"batchItemFailures": [{"itemIdentifier": "2"}]})));
    assert_eq!(stack.count("notifications").await, 2);
    stack.proxy().mend();
    assert_eq!(fanout.invoke(batch).await, Outcome::Answered(json!({"batchItemFailures": []})));
    assert_eq!((stack.count("notifications").await, stack.count("sends").await), (3, 12));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_a_stream_that_fails_is_where_the_shard_goes_on() {
    let stack = Stack::behind_a_proxy_with(by_hand()).await;
    announced(&stack).await;
    let mut relay = start(&stack, "OutboxStreamFunction").await;
    let batch = three(&sample("outbox-stream-event"), "SequenceNumber");
    stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::NotSent; 50]);
    let answer = relay.invoke(batch.clone()).await;
    assert_eq!(answer, Outcome::Answered(json!({"batchItemFailures": [{"itemIdentifier": "1"}]})));
    stack.sqs_proxy().mend();
    assert_eq!(relay.invoke(batch).await, Outcome::Answered(json!({"batchItemFailures": []})));
    assert_eq!(stack.queued("fanout-customer").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_makes_no_sense_is_an_error_and_the_process_lives_on() {
    let stack = Stack::with(by_hand()).await;
    for (function, sense) in
        [("SweepFunction", "sweep-outbox"), ("ApiFunction", "api-inbox"), ("FanoutFunction", "fanout")]
    {
        let mut process = start(&stack, function).await;
        let Outcome::Failed(problem) = process.invoke(json!({"task": "dance"})).await else {
            panic!("{function} answered nonsense");
        };
        assert!(problem["errorMessage"].is_string() && problem["errorType"].is_string(), "{problem}");
        process.invoke(sample(sense)).await.answer();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_waits_for_work_ends_when_it_is_told_to() {
    let stack = Stack::with(by_hand()).await;
    let mut process = start(&stack, "FanoutFunction").await;
    process.until_first_poll().await;
    assert_eq!(process.terminate().await.signal(), Some(SIGTERM));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_terminated_process_had_in_hand_takes_effect_once_in_the_next() {
    for fault in [Fault::HeldBefore, Fault::HeldAfter] {
        let stack = Stack::behind_a_proxy_with(by_hand()).await;
        announced(&stack).await;
        stack.proxy().break_next("TransactWriteItems", &[fault]);
        let mut process = start(&stack, "FanoutFunction").await;
        let answered = process.begin(sample("fanout")).await;
        stack.proxy().held().await;
        assert_eq!(process.terminate().await.signal(), Some(SIGTERM));
        drop(answered);
        stack.proxy().mend();
        let again = start(&stack, "FanoutFunction").await.invoke(sample("fanout")).await;
        assert_eq!(again, Outcome::Answered(json!({"batchItemFailures": []})));
        let told = (stack.count("notifications").await, stack.count("sends").await, stack.count("processed").await);
        assert_eq!(told, (1, 4, 1), "{fault:?}");
    }
}
