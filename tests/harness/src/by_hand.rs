//! What AWS does around a function, done by hand on a stack where nothing happens by itself: messages and records as
//! Lambda hands them over.

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use reqwest::Method;
use serde_json::{Value, json};

use crate::Stack;

impl Stack {
    /// Has one of the host's own functions do its work.
    pub async fn invoke(&self, function: &str, event: Value) {
        let response = self.ask_function(function, event).await;
        assert_eq!(response["batchItemFailures"], json!([]), "{function}: {response}");
    }

    /// What one of the host's own functions answers.
    pub async fn ask_function(&self, function: &str, event: Value) -> Value {
        let body = json!({"function": function, "event": event});
        let mut answer = self.call(Method::POST, "/local/invoke", Some(body)).await.json();
        assert!(answer["error"].is_null(), "{function}: {answer}");
        answer["response"].take()
    }

    /// At most ten messages of a queue, for as long as its visibility timeout.
    pub async fn receive(&self, queue: &str) -> Vec<Message> {
        let url = self.queue_url(queue).await;
        let sqs = self.sqs().await;
        let asked = sqs.receive_message().queue_url(url).max_number_of_messages(10).message_attribute_names("All");
        let asked = asked.message_system_attribute_names(MessageSystemAttributeName::All).wait_time_seconds(0);
        asked.send().await.expect("the queue is there").messages.unwrap_or_default()
    }

    /// The inserts of a table as its stream hands them over.
    pub async fn inserts(&self, table: &str, keys: &[&str]) -> Value {
        let rows = self.rows(table).await;
        let record = |(number, row): (usize, &Value)| {
            let keys: serde_json::Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), row[*key].clone())).collect();
            json!({
                "eventID": number.to_string(), "eventName": "INSERT", "eventVersion": "1.1",
                "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
                "dynamodb": {
                    "ApproximateCreationDateTime": 1_794_819_600, "Keys": keys, "NewImage": row,
                    "SequenceNumber": (100 + number).to_string(), "SizeBytes": 500, "StreamViewType": "NEW_IMAGE",
                },
                "eventSourceARN": format!("arn:aws:dynamodb:us-east-1:000000000000:table/belfry-local-{table}/stream/1"),
            })
        };
        json!({"Records": rows.iter().enumerate().map(record).collect::<Vec<_>>()})
    }

    /// What stands in a table, as DynamoDB writes it in JSON.
    pub async fn rows(&self, table: &str) -> Vec<Value> {
        let mut ask = json!({"TableName": format!("belfry-local-{table}"), "ConsistentRead": true});
        let mut rows = Vec::new();
        loop {
            let mut page = self.ask_dynamodb("Scan", &ask).await;
            rows.append(page["Items"].as_array_mut().expect("items"));
            match page["LastEvaluatedKey"].take() {
                Value::Null => return rows,
                last => ask["ExclusiveStartKey"] = last,
            }
        }
    }

    /// Asks DynamoDB, in its own JSON.
    pub async fn ask_dynamodb(&self, operation: &str, body: &Value) -> Value {
        ask_dynamodb(self.client(), self.dynamodb_url(), operation, body).await.1
    }
}

/// The messages of a queue as Lambda hands them over.
pub fn event(queue: &str, messages: &[Message]) -> Value {
    let record = |message: &Message| {
        let attributes = message.message_attributes.iter().flatten().map(|(name, value)| {
            (name.clone(), json!({"stringValue": value.string_value, "dataType": value.data_type}))
        });
        let system = message.attributes.iter().flatten();
        let system = system.map(|(name, value)| (name.as_str().to_owned(), json!(value)));
        json!({
            "messageId": message.message_id,
            "receiptHandle": message.receipt_handle,
            "body": message.body,
            "attributes": system.collect::<serde_json::Map<_, _>>(),
            "messageAttributes": attributes.collect::<serde_json::Map<_, _>>(),
            "eventSource": "aws:sqs",
            "eventSourceARN": format!("arn:aws:sqs:us-east-1:000000000000:belfry-local-{queue}"),
            "awsRegion": "us-east-1",
        })
    };
    json!({"Records": messages.iter().map(record).collect::<Vec<_>>()})
}

/// Asks the DynamoDB at this URL in its own JSON, which needs no client of the SDK's.
pub async fn ask_dynamodb(
    client: &reqwest::Client,
    url: &str,
    operation: &str,
    body: &Value,
) -> (reqwest::StatusCode, Value) {
    let request = client.post(url).body(body.to_string());
    let request = request
        .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-date", "20260101T000000Z")
        .header(
            "authorization",
            "AWS4-HMAC-SHA256 Credential=a/b/c/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
        );
    let answer = request.send().await.expect("DynamoDB answers");
    (answer.status(), answer.json().await.expect("JSON"))
}
