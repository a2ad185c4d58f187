//! Delivers one batch of a stream: retries, partial batch responses, bisecting, and the on-failure destination.

use std::time::Duration;

use domain::backoff::Backoff;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::functions::Invocable;
use crate::template::StreamMapping;

/// Lambda backs off between retries of a batch.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(100),
    cap: Duration::from_secs(10),
    least: Duration::ZERO,
    jitter: (0.5, 1.5),
};

/// The queue that receives the stream position of a batch that was given up, without its records.
#[derive(Debug, Clone)]
pub struct OnFailure {
    pub sqs: aws_sdk_sqs::Client,
    pub queue_url: String,
}

#[derive(Debug)]
pub struct BatchDelivery<'a> {
    pub mapping: &'a StreamMapping,
    pub function: &'a Invocable,
    pub on_failure: Option<&'a OnFailure>,
    pub shard: &'a str,
    pub stream_arn: &'a str,
    pub stop: &'a CancellationToken,
}

/// What remains of a batch after an invocation.
#[derive(Debug, PartialEq)]
enum Left {
    Nothing,
    /// The response names the first failed record. All records before it succeeded.
    From(usize),
    /// The invocation failed, or the response names a record outside the batch.
    Everything,
}

impl BatchDelivery<'_> {
    /// Returns when every record was processed or given up, or the host stops.
    pub async fn deliver(&self, batch: Vec<Value>) {
        // Halves of a bisected batch, the earlier one last, each with its own number of attempts.
        let mut waiting = vec![(batch, 0)];
        while let Some((batch, attempts)) = waiting.pop() {
            let batch = self.drop_too_old(batch).await;
            if batch.is_empty() {
                continue;
            }
            let response = self.function.invoke(json!({"Records": batch})).await;
            let left = left_of(&batch, &response, self.mapping.report_batch_item_failures);
            if left == Left::Nothing {
                continue;
            }
            if self.stop.is_cancelled() {
                return;
            }
            tracing::debug!(shard = self.shard, attempts, ?left, "batch failed");
            let attempts = attempts + 1;
            match left {
                Left::Nothing => {}
                // The remainder is a new batch with its own attempts.
                Left::From(first) if first > 0 => waiting.push((batch[first..].to_vec(), 0)),
                Left::From(_) | Left::Everything if self.exhausted(attempts) => {
                    self.give_up(&batch, "RetryAttemptsExhausted", attempts).await;
                    continue;
                }
                Left::Everything if self.mapping.bisect && batch.len() > 1 => {
                    let (earlier, later) = batch.split_at(batch.len() / 2);
                    waiting.push((later.to_vec(), attempts));
                    waiting.push((earlier.to_vec(), attempts));
                }
                Left::From(_) | Left::Everything => waiting.push((batch, attempts)),
            }
            let wait = BACKOFF.after(attempts, rand::random());
            let _ = tokio::time::timeout(wait, self.stop.cancelled()).await;
            if self.stop.is_cancelled() {
                return;
            }
        }
    }

    fn exhausted(&self, attempts: u32) -> bool {
        self.mapping.maximum_retry_attempts.is_some_and(|most| attempts > most)
    }

    async fn drop_too_old(&self, batch: Vec<Value>) -> Vec<Value> {
        let Some(oldest) = self.mapping.maximum_record_age else { return batch };
        let horizon = jiff::Timestamp::now().as_second() - i64::from(oldest);
        let created = |record: &Value| record["dynamodb"]["ApproximateCreationDateTime"].as_f64().unwrap_or(f64::MAX);
        let (fresh, old): (Vec<_>, Vec<_>) = batch.into_iter().partition(|record| created(record) >= horizon as f64);
        if !old.is_empty() {
            self.give_up(&old, "RecordAgeExceeded", 0).await;
        }
        fresh
    }

    async fn give_up(&self, batch: &[Value], condition: &str, attempts: u32) {
        tracing::error!(shard = self.shard, records = batch.len(), condition, "batch moved to on-failure queue");
        let Some(on_failure) = self.on_failure else { return };
        let sequence = |record: Option<&Value>| record.map(|record| record["dynamodb"]["SequenceNumber"].clone());
        let report = json!({
            "requestContext": {
                "requestId": uuid::Uuid::now_v7().to_string(),
                "functionArn": self.function.name,
                "condition": condition,
                "approximateInvokeCount": attempts,
            },
            "version": "1.0",
            "timestamp": jiff::Timestamp::now().to_string(),
            "DDBStreamBatchInfo": {
                "shardId": self.shard,
                "startSequenceNumber": sequence(batch.first()),
                "endSequenceNumber": sequence(batch.last()),
                "batchSize": batch.len(),
                "streamArn": self.stream_arn,
            },
        });
        let send = on_failure.sqs.send_message().queue_url(&on_failure.queue_url).message_body(report.to_string());
        if let Err(error) = send.send().await {
            tracing::error!(error = %aws_sdk_sqs::error::DisplayErrorContext(&error), "cannot send to on-failure queue");
        }
    }
}

fn left_of(batch: &[Value], response: &Result<Value, String>, reports: bool) -> Left {
    let Ok(response) = response else { return Left::Everything };
    let failures = response["batchItemFailures"].as_array().filter(|_| reports);
    let Some(failures) = failures.filter(|failures| !failures.is_empty()) else { return Left::Nothing };
    let position = |failure: &Value| {
        batch.iter().position(|record| record["dynamodb"]["SequenceNumber"] == failure["itemIdentifier"])
    };
    // Lambda resumes at the lowest reported sequence number. An unknown one fails the whole batch.
    let positions: Option<Vec<usize>> = failures.iter().map(position).collect();
    positions.and_then(|positions| positions.into_iter().min()).map_or(Left::Everything, Left::From)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn batch() -> Vec<Value> {
        let record = |number| json!({"dynamodb": {"SequenceNumber": number, "ApproximateCreationDateTime": 1.0}});
        ["10", "11", "12"].map(record).into()
    }

    fn named(numbers: &[&str]) -> Result<Value, String> {
        Ok(json!({"batchItemFailures": numbers.iter().map(|n| json!({"itemIdentifier": n})).collect::<Vec<_>>()}))
    }

    /// The batches that a function was invoked with, and the messages in the on-failure queue.
    async fn delivered(
        mapping: StreamMapping,
        fails: fn(&[String]) -> Result<Value, String>,
    ) -> (Vec<Vec<String>>, Vec<Value>) {
        let engine = engine::Engine::start(engine::Ports::default()).await.expect("engines");
        let endpoints =
            crate::Endpoints { dynamodb: engine.dynamodb_url().to_owned(), sqs: engine.sqs_url().to_owned() };
        let sqs = crate::aws::Clients::new(&endpoints).sqs;
        let queue_url =
            sqs.create_queue().queue_name("failures").send().await.expect("a queue").queue_url.expect("a URL");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let function = Invocable::of_test({
            let seen = Arc::clone(&seen);
            move |event| {
                let number = |record: &Value| record["dynamodb"]["SequenceNumber"].as_str().expect("text").to_owned();
                let numbers: Vec<String> = event["Records"].as_array().expect("records").iter().map(number).collect();
                seen.lock().expect("unpoisoned").push(numbers.clone());
                fails(&numbers)
            }
        });
        let on_failure = OnFailure { sqs: sqs.clone(), queue_url: queue_url.clone() };
        let delivery = BatchDelivery {
            mapping: &mapping,
            function: &function,
            on_failure: Some(&on_failure),
            shard: "shard",
            stream_arn: "arn",
            stop: &CancellationToken::new(),
        };
        delivery.deliver(batch()).await;
        let received =
            sqs.receive_message().queue_url(&queue_url).max_number_of_messages(10).send().await.expect("an answer");
        let told = received
            .messages()
            .iter()
            .map(|message| serde_json::from_str(message.body().expect("a body")).expect("json"));
        let seen = seen.lock().expect("unpoisoned").clone();
        (seen, told.collect())
    }

    fn mapping(bisect: bool, retries: Option<u32>) -> StreamMapping {
        StreamMapping {
            name: "Test".to_owned(),
            table: "Table".to_owned(),
            batch_size: 10,
            parallelization_factor: 1,
            filters: Vec::new(),
            report_batch_item_failures: true,
            bisect,
            maximum_retry_attempts: retries,
            maximum_record_age: None,
            on_failure: None,
        }
    }

    #[tokio::test]
    async fn bisecting_finds_the_one_record_that_breaks_the_function() {
        let fails = |numbers: &[String]| {
            if numbers.contains(&"11".to_owned()) { Err("boom".to_owned()) } else { Ok(Value::Null) }
        };
        let (seen, told) = delivered(mapping(true, Some(3)), fails).await;
        assert_eq!(seen[..3], [vec!["10", "11", "12"], vec!["10"], vec!["11", "12"]]);
        assert_eq!(seen.last().expect("invocations"), &["12"], "the others get through");
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["DDBStreamBatchInfo"]["startSequenceNumber"], "11");
        assert_eq!(told[0]["DDBStreamBatchInfo"]["endSequenceNumber"], "11");
        assert_eq!(told[0]["requestContext"]["condition"], "RetryAttemptsExhausted");
    }

    #[tokio::test]
    async fn retries_are_bounded_and_start_at_the_first_failure() {
        let fails = |_: &[String]| Ok(json!({"batchItemFailures": [{"itemIdentifier": "11"}]}));
        let (seen, told) = delivered(mapping(false, Some(2)), fails).await;
        assert_eq!(seen[0], ["10", "11", "12"]);
        assert_eq!(seen[1..], [["11", "12"]; 3], "once, and two retries");
        assert_eq!(told[0]["DDBStreamBatchInfo"]["batchSize"], 2);
        assert_eq!(told[0]["requestContext"]["approximateInvokeCount"], 3);
    }

    #[tokio::test]
    async fn too_old_record_is_given_up_without_an_invocation() {
        let too_old = StreamMapping { maximum_record_age: Some(60), ..mapping(false, None) };
        let (seen, told) = delivered(too_old, |_| Ok(Value::Null)).await;
        assert!(seen.is_empty());
        assert_eq!(told[0]["requestContext"]["condition"], "RecordAgeExceeded");
    }

    #[test]
    fn an_empty_report_is_success() {
        assert_eq!(left_of(&batch(), &named(&[]), true), Left::Nothing);
        assert_eq!(left_of(&batch(), &Ok(Value::Null), true), Left::Nothing);
    }

    #[test]
    fn retry_resumes_at_the_lowest_reported_record() {
        assert_eq!(left_of(&batch(), &named(&["12", "11"]), true), Left::From(1));
    }

    #[test]
    fn error_or_unknown_record_fails_the_whole_batch() {
        assert_eq!(left_of(&batch(), &Err("boom".to_owned()), true), Left::Everything);
        assert_eq!(left_of(&batch(), &named(&["99"]), true), Left::Everything);
        assert_eq!(left_of(&batch(), &named(&[""]), true), Left::Everything);
    }

    #[test]
    fn report_is_ignored_unless_the_mapping_asks_for_it() {
        assert_eq!(left_of(&batch(), &named(&["11"]), false), Left::Nothing);
    }
}
