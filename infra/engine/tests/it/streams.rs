//! DynamoDB Streams.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, StreamSpecification, StreamViewType};
use aws_sdk_dynamodbstreams::types::{AttributeValue as StreamValue, OperationType, Record, ShardIteratorType};

use crate::clients::{Pair, item};

/// A pair with a table `orders` that has a stream; and the stream's ARN.
async fn pair_with_a_stream() -> (Pair, String) {
    let pair = Pair::start().await;
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()
        .expect("complete");
    let created = pair.table("orders").stream_specification(stream).send().await.expect("a table");
    let arn = created.table_description.and_then(|table| table.latest_stream_arn).expect("a stream");
    (pair, arn)
}

async fn put(pair: &Pair, attributes: &[(&str, &str)]) {
    pair.dynamodb.put_item().table_name("orders").set_item(Some(item(attributes))).send().await.expect("written");
}

async fn iterator(pair: &Pair, arn: &str, from: ShardIteratorType) -> String {
    let described = pair.streams.describe_stream().stream_arn(arn).send().await.expect("a stream");
    let shards = described.stream_description.and_then(|stream| stream.shards).expect("shards");
    let range = shards[0].sequence_number_range.as_ref().expect("a range");
    assert_eq!(range.ending_sequence_number, None, "an open shard has no last number");
    let shard = shards[0].shard_id.clone().expect("a name");
    let asked = pair.streams.get_shard_iterator().stream_arn(arn).shard_id(shard).shard_iterator_type(from);
    asked.send().await.expect("answered").shard_iterator.expect("an iterator")
}

async fn read(pair: &Pair, iterator: String) -> (Vec<Record>, String) {
    let answer = pair.streams.get_records().shard_iterator(iterator).send().await.expect("records");
    (answer.records.unwrap_or_default(), answer.next_shard_iterator.expect("a next iterator"))
}

fn image(attributes: &[(&str, &str)]) -> Option<HashMap<String, StreamValue>> {
    let values = attributes.iter().map(|(name, value)| ((*name).to_owned(), StreamValue::S((*value).to_owned())));
    Some(values.collect())
}

#[tokio::test]
async fn insert_and_update_arrive_in_order_with_images() {
    let (pair, arn) = pair_with_a_stream().await;
    put(&pair, &[("id", "1"), ("state", "new")]).await;
    put(&pair, &[("id", "1"), ("state", "paid")]).await;

    let start = iterator(&pair, &arn, ShardIteratorType::TrimHorizon).await;
    let (records, next) = read(&pair, start).await;
    assert_eq!(records.len(), 2);
    let [insert, change] = [&records[0], &records[1]].map(|record| record.dynamodb.as_ref().unwrap());
    assert_eq!(records[0].event_name, Some(OperationType::Insert));
    assert_eq!(records[1].event_name, Some(OperationType::Modify));
    assert_eq!((&insert.old_image, &insert.new_image), (&None, &image(&[("id", "1"), ("state", "new")])));
    assert_eq!(change.old_image, image(&[("id", "1"), ("state", "new")]));
    assert_eq!(change.new_image, image(&[("id", "1"), ("state", "paid")]));
    assert!(insert.sequence_number < change.sequence_number);
    assert!(records.iter().all(|record| record.aws_region.as_deref() == Some("us-east-1")));
    assert_ne!(records[0].event_id, records[1].event_id);

    assert_eq!(read(&pair, next).await.0, []);
}

#[tokio::test]
async fn write_without_change_has_no_record_and_blocks_nothing() {
    let (pair, arn) = pair_with_a_stream().await;
    let start = iterator(&pair, &arn, ShardIteratorType::TrimHorizon).await;
    put(&pair, &[("id", "1"), ("state", "new"), ("note", "x")]).await;
    let (_, next) = read(&pair, start).await;

    put(&pair, &[("note", "x"), ("state", "new"), ("id", "1")]).await;
    let (unchanged, next) = read(&pair, next).await;
    assert_eq!(unchanged, []);

    put(&pair, &[("id", "2")]).await;
    let (records, _) = read(&pair, next).await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].event_name, Some(OperationType::Insert));
}

#[tokio::test]
async fn latest_iterator_starts_after_existing_records() {
    let (pair, arn) = pair_with_a_stream().await;
    put(&pair, &[("id", "before")]).await;
    let latest = iterator(&pair, &arn, ShardIteratorType::Latest).await;
    put(&pair, &[("id", "after")]).await;
    let (records, _) = read(&pair, latest).await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].dynamodb.as_ref().unwrap().keys, image(&[("id", "after")]));
}

#[tokio::test]
async fn only_a_successful_write_changes_the_counter() {
    let (pair, _) = pair_with_a_stream().await;
    let mut writes = pair.engine.writes();
    writes.mark_unchanged();
    put(&pair, &[("id", "1")]).await;
    assert!(writes.has_changed().unwrap());

    writes.mark_unchanged();
    let key = AttributeValue::S("1".to_owned());
    pair.dynamodb.get_item().table_name("orders").key("id", key.clone()).send().await.unwrap();
    let refused = pair.dynamodb.delete_item().table_name("orders").key("id", key);
    refused.condition_expression("attribute_not_exists(id)").send().await.unwrap_err();
    assert!(!writes.has_changed().unwrap());
}

#[tokio::test]
async fn write_wakes_a_waiting_task() {
    let (pair, _) = pair_with_a_stream().await;
    let mut writes = pair.engine.writes();
    writes.mark_unchanged();
    let waiting = tokio::spawn(async move { writes.changed().await });
    put(&pair, &[("id", "1")]).await;
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn iterator_begins_with_its_stream_arn() {
    let (pair, arn) = pair_with_a_stream().await;
    let first = iterator(&pair, &arn, ShardIteratorType::TrimHorizon).await;
    let (_, next) = read(&pair, first.clone()).await;
    for iterator in [first, next] {
        assert!(iterator.starts_with(&format!("{arn}|")), "{iterator}");
    }
}
