//! Tables and indexes, where the layer around the database is involved.

use std::io::{Read, Write};
use std::net::TcpStream;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    PutRequest, ScalarAttributeType, StreamSpecification, StreamViewType, WriteRequest,
};

use crate::clients::{Pair, item};

/// Sends raw bytes, for requests that a client library would not send.
fn raw(pair: &Pair, request: &str) -> String {
    let address = pair.engine.dynamodb_url().strip_prefix("http://").expect("a plain URL");
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

#[tokio::test]
async fn arns_name_us_east_1_and_are_accepted_back() {
    let pair = Pair::start().await;
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()
        .unwrap();
    let created = pair.table("orders").stream_specification(stream).send().await.unwrap();
    let table = created.table_description.unwrap();
    let table_arn = table.table_arn.unwrap();
    assert_eq!(table_arn, "arn:aws:dynamodb:us-east-1:000000000000:table/orders");
    let stream_arn = table.latest_stream_arn.unwrap();
    assert!(stream_arn.starts_with("arn:aws:dynamodb:us-east-1:000000000000:table/orders/stream/"), "{stream_arn}");

    let described = pair.dynamodb.describe_table().table_name("orders").send().await.unwrap().table.unwrap();
    assert_eq!(described.latest_stream_arn.as_deref(), Some(stream_arn.as_str()));
    let listed = pair.streams.list_streams().send().await.unwrap().streams.unwrap();
    assert_eq!(listed[0].stream_arn.as_deref(), Some(stream_arn.as_str()));
    let described = pair.streams.describe_stream().stream_arn(&stream_arn).send().await.unwrap();
    assert_eq!(described.stream_description.unwrap().stream_arn.as_deref(), Some(stream_arn.as_str()));
    let after = pair.streams.list_streams().exclusive_start_stream_arn(&stream_arn).send().await.unwrap();
    assert_eq!(after.streams.unwrap_or_default(), []);
}

#[tokio::test]
async fn a_sparse_index_holds_only_what_has_its_key() {
    let pair = Pair::start().await;
    let pending = GlobalSecondaryIndex::builder()
        .index_name("pending")
        .key_schema(KeySchemaElement::builder().attribute_name("pending").key_type(KeyType::Hash).build().unwrap())
        .projection(Projection::builder().projection_type(ProjectionType::All).build())
        .build()
        .unwrap();
    let key = AttributeDefinition::builder()
        .attribute_name("pending")
        .attribute_type(ScalarAttributeType::S)
        .build()
        .unwrap();
    pair.table("events").attribute_definitions(key).global_secondary_indexes(pending).send().await.unwrap();
    let write = |attributes: &[(&str, &str)]| {
        let put = PutRequest::builder().set_item(Some(item(attributes))).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let batch = vec![write(&[("id", "sent")]), write(&[("id", "waiting"), ("pending", "0")])];
    pair.dynamodb.batch_write_item().request_items("events", batch).send().await.unwrap();

    let found = pair
        .dynamodb
        .query()
        .table_name("events")
        .index_name("pending")
        .key_condition_expression("pending = :pending")
        .expression_attribute_values(":pending", AttributeValue::S("0".to_owned()))
        .send()
        .await
        .unwrap();
    assert_eq!(found.items(), [item(&[("id", "waiting"), ("pending", "0")])]);
}

#[tokio::test]
async fn unsupported_operation_is_unknown() {
    let pair = Pair::start().await;
    let answer = raw(
        &pair,
        "POST / HTTP/1.1\r\nHost: engine\r\nX-Amz-Target: DynamoDB_20120810.ExecuteStatement\r\n\
         Content-Length: 2\r\nConnection: close\r\n\r\n{}",
    );
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("UnknownOperationException"), "{answer}");
}

#[tokio::test]
async fn get_answers_as_a_health_check() {
    let pair = Pair::start().await;
    let answer = raw(&pair, "GET / HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
