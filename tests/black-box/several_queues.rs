//! One event for several queues: PUBLISHED when all have it, and no second message to those that had it.
//!
//! The relay itself on the tables and queues of a stack, with entries that name two queues nobody reads.

use aws_lambda_events::dynamodb::Event as StreamEvent;
use belfry_aws::lambda::Start;
use harness::{CUSTOMER_MAPPING, STREAM_MAPPING, Stack, announcement, switched_off, template_without};
use local::Options;
use outbox_stream::OutboxStream;
use serde_json::{Value, json};

async fn relay(stack: &Stack, second_queue: &str) -> OutboxStream {
    let settings = [
        ("BELFRY_EVENTS_TABLE", "belfry-local-events".to_owned()),
        ("BELFRY_FANOUT_CUSTOMER_QUEUE_URL", stack.queue_url("fanout-customer").await),
        ("BELFRY_FANOUT_RESTAURANT_USER_QUEUE_URL", stack.queue_url("fanout-restaurant-user").await),
        ("BELFRY_FANOUT_AGENCY_USER_QUEUE_URL", stack.queue_url("fanout-agency-user").await),
        ("BELFRY_FANOUT_ADMIN_USER_QUEUE_URL", second_queue.to_owned()),
        ("BELFRY_REDRIVES_QUEUE_URL", stack.queue_url("redrives").await),
        ("BELFRY_INVENTORY_QUEUE_URL", stack.queue_url("inventory").await),
        ("BELFRY_PAYMENT_QUEUE_URL", stack.queue_url("payment").await),
        ("BELFRY_ORDER_QUEUE_URL", stack.queue_url("order").await),
        ("BELFRY_SENDS_TABLE", "belfry-local-sends".to_owned()),
        ("BELFRY_DELIVER_EMAIL_QUEUE_URL", stack.queue_url("deliver-email").await),
        ("BELFRY_DELIVER_SMS_QUEUE_URL", stack.queue_url("deliver-sms").await),
        ("BELFRY_DELIVER_PUSH_QUEUE_URL", stack.queue_url("deliver-push").await),
        ("BELFRY_DELIVER_SLACK_QUEUE_URL", stack.queue_url("deliver-slack").await),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    let metrics = belfry_aws::Metrics::to_each(std::io::sink);
    let aws = belfry_aws::aws_types::SdkConfig::builder().build();
    let mut start = Start::with(settings, aws, stack.dynamodb().await, stack.sqs().await, metrics);
    let relay = outbox_stream::function(&mut start);
    start.finish().expect("settings");
    relay
}

/// The stream's batch of everything that is stored.
async fn batch(stack: &Stack) -> StreamEvent {
    let records = stack.items("events").await.into_iter().enumerate().map(|(n, item)| {
        let image: serde_dynamo::Item = item.into();
        let mut image = serde_json::to_value(image).expect("an image");
        image["destinations"] = json!({"L": [{"S": "fanout-customer"}, {"S": "fanout-admin-user"}]});
        let keys = json!({"event_id": image["event_id"]});
        let change = json!({
            "ApproximateCreationDateTime": 1_700_000_000, "Keys": keys, "NewImage": image, "SequenceNumber": format!("{n}"),
            "SizeBytes": 1, "StreamViewType": "NEW_IMAGE",
        });
        json!({"eventID": format!("r-{n}"), "eventName": "INSERT", "awsRegion": "us-east-1", "dynamodb": change})
    });
    serde_json::from_value(json!({"Records": records.collect::<Vec<Value>>()})).expect("a batch")
}

#[tokio::test]
async fn an_event_is_published_when_every_queue_has_it_and_goes_to_none_of_them_twice() {
    let both = switched_off(&template_without(STREAM_MAPPING), CUSTOMER_MAPPING);
    let stack = Stack::with(Options { template: Some(both), ..Options::default() }).await;
    stack.source().await.hand_in(&json!([announcement("e-1", "u", "t"), announcement("e-2", "u", "t")])).await;

    let away = stack.queue_url("relay-failures").await.replace("relay-failures", "no-such-queue");
    for _ in 0..3 {
        let report = relay(&stack, &away).await.batch(batch(&stack).await).await;
        assert_eq!(report.batch_item_failures.len(), 1, "it stops at the first that did not get everywhere");
        assert_eq!(stack.column("events", "status").await, ["PENDING", "PENDING"]);
        assert_eq!(stack.queued("fanout-customer").await, 2, "the queue that has them is left alone");
    }
    // The second queue is back; it stands here for an audience that has no queue of its own.
    let mut back = relay(&stack, &stack.queue_url("relay-failures").await).await;
    let report = back.batch(batch(&stack).await).await;
    assert!(report.batch_item_failures.is_empty());
    assert_eq!(stack.column("events", "status").await, ["PUBLISHED", "PUBLISHED"]);
    assert_eq!((stack.queued("fanout-customer").await, stack.queued("relay-failures").await), (2, 2));
}
