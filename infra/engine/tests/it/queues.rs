//! Queues: sending, receiving, delays.

use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, MessageSystemAttributeName, SendMessageBatchRequestEntry};

use crate::clients::{Pair, until};

#[tokio::test]
async fn queue_url_points_to_its_engine() {
    let pair = Pair::start().await;
    let (url, _) = pair.queue("orders", &[]).await;
    assert_eq!(url, format!("{}/000000000000/orders", pair.engine.sqs_url()));
    let found = pair.sqs.get_queue_url().queue_name("orders").send().await.unwrap();
    assert_eq!(found.queue_url.unwrap(), url);
}

#[tokio::test]
async fn message_ends_a_long_poll() {
    let pair = Pair::start().await;
    let (url, _) = pair.queue("orders", &[]).await;
    let waiting = tokio::spawn(pair.sqs.receive_message().queue_url(&url).wait_time_seconds(20).send());
    pair.sqs.send_message().queue_url(&url).message_body("hello").send().await.unwrap();
    let received = waiting.await.unwrap().unwrap();
    assert_eq!(received.messages()[0].body.as_deref(), Some("hello"));
}

#[tokio::test]
async fn delayed_message_arrives_after_its_delay() {
    let pair = Pair::start().await;
    let (url, _) = pair.queue("orders", &[]).await;
    pair.sqs.send_message().queue_url(&url).message_body("later").delay_seconds(1).send().await.unwrap();
    let receive = || {
        let asked = pair.sqs.receive_message().queue_url(&url).wait_time_seconds(5);
        asked.message_system_attribute_names(MessageSystemAttributeName::All).send()
    };
    let message = until("the delayed message", async || {
        receive().await.unwrap().messages.and_then(|mut messages| messages.pop())
    })
    .await;
    let attributes = message.attributes.unwrap();
    let millis = |name: MessageSystemAttributeName| attributes[&name].parse::<u64>().unwrap();
    let waited = millis(MessageSystemAttributeName::ApproximateFirstReceiveTimestamp)
        - millis(MessageSystemAttributeName::SentTimestamp);
    // By the engine's own two clocks, of which one is read a moment before the other.
    assert!(waited >= 990, "{waited} ms");
}

#[tokio::test]
async fn each_entry_of_a_batch_has_its_own_outcome() {
    let pair = Pair::start().await;
    let (url, _) = pair.queue("orders", &[("MaximumMessageSize", "1024")]).await;
    let entry = |id: &str, body: String| SendMessageBatchRequestEntry::builder().id(id).message_body(body);
    let answer = pair
        .sqs
        .send_message_batch()
        .queue_url(&url)
        .entries(entry("small", "x".to_owned()).build().unwrap())
        .entries(entry("large", "x".repeat(2_000)).build().unwrap())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.successful().iter().map(|entry| entry.id()).collect::<Vec<_>>(), ["small"]);
    assert_eq!(answer.failed().iter().map(|entry| entry.id()).collect::<Vec<_>>(), ["large"]);
}

#[tokio::test]
async fn undeleted_message_is_received_again_and_counted() {
    let pair = Pair::start().await;
    let (url, _) = pair.queue("orders", &[("VisibilityTimeout", "0")]).await;
    pair.sqs.send_message().queue_url(&url).message_body("again").send().await.unwrap();
    let receive = || {
        pair.sqs
            .receive_message()
            .queue_url(&url)
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
            .send()
    };
    for count in ["1", "2"] {
        let received = receive().await.unwrap();
        let attributes = received.messages()[0].attributes.as_ref().unwrap();
        assert_eq!(attributes[&MessageSystemAttributeName::ApproximateReceiveCount], count);
        assert_eq!(attributes.len(), 1, "only what was asked for");
    }
    let received = receive().await.unwrap();
    let gone = DeleteMessageBatchRequestEntry::builder()
        .id("it")
        .receipt_handle(received.messages()[0].receipt_handle.clone().unwrap())
        .build()
        .unwrap();
    pair.sqs.delete_message_batch().queue_url(&url).entries(gone).send().await.unwrap();
    assert_eq!(receive().await.unwrap().messages(), []);
}
