//! Stream mapping: polls every shard of a table's stream, filters and batches the records, and invokes the function.
//!
//! A write to the embedded engine wakes the poller. On other engines it polls four times a second, as Lambda does.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodbstreams::error::DisplayErrorContext;
use aws_sdk_dynamodbstreams::types::{Record, ShardIteratorType};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::aws::{Clients, REGION};
use crate::deliveries::Deliveries;
use crate::functions::Invocable;
use crate::mapping::attribute::item;
use crate::mapping::stream_batch::{BatchDelivery, OnFailure};
use crate::mapping::{Checkpoints, passes};
use crate::template::StreamMapping;

const SHARDS_EVERY: Duration = Duration::from_secs(30);
const RECORDS_EVERY: Duration = Duration::from_millis(250);
/// The longest pause where the embedded engine wakes the poller at every write.
const RECORDS_AT_LEAST_EVERY: Duration = Duration::from_secs(2);
/// The pause after a failed call.
const AFTER_ERROR: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub struct StreamPoller {
    pub mapping: StreamMapping,
    pub stream_arn: String,
    pub function: Invocable,
    pub on_failure: Option<OnFailure>,
    pub clients: Clients,
    pub checkpoints: Checkpoints,
    pub deliveries: Deliveries,
    /// Wakes the poller at every write to an embedded engine.
    pub writes: Option<watch::Receiver<u64>>,
    pub drained: Drained,
}

/// Tells when a poller has seen everything that was written before a given moment.
#[derive(Debug, Clone, Default)]
pub struct Drained {
    shared: Arc<Polls>,
}

#[derive(Debug, Default)]
struct Polls {
    begun: AtomicU64,
    last_empty: AtomicU64,
    look: Notify,
}

impl Drained {
    fn begin(&self) -> u64 {
        self.shared.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn found_nothing(&self, poll: u64) {
        self.shared.last_empty.fetch_max(poll, Ordering::SeqCst);
    }

    /// Returns once a poll that began after this call has found nothing.
    pub async fn after_now(&self) {
        let now = self.shared.begun.load(Ordering::SeqCst);
        while self.shared.last_empty.load(Ordering::SeqCst) <= now {
            self.shared.look.notify_one();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

impl StreamPoller {
    /// Polls until told to stop.
    pub async fn run(self, stop: CancellationToken) {
        let mut known = BTreeSet::new();
        let mut shards = Vec::new();
        while !stop.is_cancelled() {
            match self.shards().await {
                Ok(found) => {
                    for shard in found {
                        if known.insert(shard.clone()) {
                            shards.push(tokio::spawn(self.clone().poll_shard(shard, stop.clone())));
                        }
                    }
                    let _ = tokio::time::timeout(SHARDS_EVERY, stop.cancelled()).await;
                }
                Err(error) => {
                    tracing::warn!(stream = self.stream_arn, error, "cannot describe stream; will retry");
                    let _ = tokio::time::timeout(AFTER_ERROR, stop.cancelled()).await;
                }
            }
        }
        join_all(shards).await;
    }

    async fn shards(&self) -> Result<Vec<String>, String> {
        let described = self.clients.streams.describe_stream().stream_arn(&self.stream_arn).send().await;
        let described = described.map_err(|error| DisplayErrorContext(&error).to_string())?;
        let shards = described.stream_description.and_then(|stream| stream.shards).unwrap_or_default();
        Ok(shards.into_iter().filter_map(|shard| shard.shard_id).collect())
    }

    async fn poll_shard(mut self, shard: String, stop: CancellationToken) {
        let place = format!("{}/{}/{shard}", self.function.name, self.mapping.name);
        let mut iterator = None;
        while !stop.is_cancelled() {
            match self.poll(&shard, &place, iterator.take(), &stop).await {
                Ok(Polled { next: None, .. }) => break, // The shard is closed and fully processed.
                Ok(Polled { next, empty }) => {
                    iterator = next;
                    if empty {
                        self.rest(&stop).await;
                    }
                }
                Err(error) => {
                    tracing::warn!(shard, error, "cannot read shard; will retry");
                    let _ = tokio::time::timeout(AFTER_ERROR, stop.cancelled()).await;
                }
            }
        }
    }

    async fn rest(&mut self, stop: &CancellationToken) {
        let look = self.drained.shared.look.notified();
        let written = async {
            match &mut self.writes {
                Some(writes) => {
                    if writes.changed().await.is_err() {
                        stop.cancelled().await; // The engine has stopped, so the host is stopping.
                    }
                }
                None => tokio::time::sleep(RECORDS_EVERY).await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = look => {}
            () = written => {}
            () = tokio::time::sleep(RECORDS_AT_LEAST_EVERY) => {}
        }
    }

    async fn poll(
        &mut self,
        shard: &str,
        place: &str,
        iterator: Option<String>,
        stop: &CancellationToken,
    ) -> Result<Polled, String> {
        let iterator = match iterator {
            Some(iterator) => iterator,
            None => self.iterator(shard, place).await?,
        };
        let poll = self.drained.begin();
        if let Some(writes) = &mut self.writes {
            // This poll finds earlier writes. Later writes end the next rest.
            writes.mark_unchanged();
        }
        let output = self.clients.streams.get_records().shard_iterator(iterator).limit(1000).send().await;
        let output = output.map_err(|error| DisplayErrorContext(&error).to_string())?;
        let records = output.records.unwrap_or_default();
        let empty = records.is_empty();
        if empty {
            self.drained.found_nothing(poll);
        }
        let chunk = usize::try_from(self.mapping.batch_size * self.mapping.parallelization_factor).unwrap_or(1);
        for chunk in records.chunks(chunk) {
            self.deliver(shard, chunk, stop).await;
            if stop.is_cancelled() {
                break; // It may be unfinished, so it is redelivered after a restart.
            }
            if let Some(last) = chunk.last().and_then(|record| record.dynamodb()?.sequence_number()) {
                self.checkpoints.save(place, last).await;
            }
        }
        Ok(Polled { next: output.next_shard_iterator, empty })
    }

    async fn iterator(&self, shard: &str, place: &str) -> Result<String, String> {
        let request = self.clients.streams.get_shard_iterator().stream_arn(&self.stream_arn).shard_id(shard);
        let request = match self.checkpoints.load(place).await? {
            Some(done) => request.shard_iterator_type(ShardIteratorType::AfterSequenceNumber).sequence_number(done),
            None => request.shard_iterator_type(ShardIteratorType::TrimHorizon),
        };
        let output = request.send().await.map_err(|error| DisplayErrorContext(&error).to_string())?;
        output.shard_iterator.ok_or_else(|| "GetShardIterator returned no iterator".to_owned())
    }

    /// Splits records by key into one lane per concurrent batch, so that an item's records stay in order, and delivers the
    /// lanes concurrently.
    async fn deliver(&self, shard: &str, records: &[Record], stop: &CancellationToken) {
        let lanes = usize::try_from(self.mapping.parallelization_factor).unwrap_or(1).max(1);
        let mut batches = vec![Vec::new(); lanes];
        for record in records {
            let record = self.lambda_record(record);
            if passes(&self.mapping.filters, &record) {
                self.deliveries.remember(&self.function.name, &record);
                batches[lane(&record, lanes)].push(record);
            }
        }
        let batch_size = usize::try_from(self.mapping.batch_size).unwrap_or(1);
        let delivery = BatchDelivery {
            mapping: &self.mapping,
            function: &self.function,
            on_failure: self.on_failure.as_ref(),
            shard,
            stream_arn: &self.stream_arn,
            stop,
        };
        let delivery = &delivery;
        let lanes = batches.into_iter().map(|lane| async move {
            for batch in lane.chunks(batch_size) {
                delivery.deliver(batch.to_vec()).await;
            }
        });
        join_all(lanes).await;
    }

    /// A record in the JSON that Lambda sends.
    fn lambda_record(&self, record: &Record) -> Value {
        let mut change = json!({});
        if let Some(dynamodb) = record.dynamodb() {
            change["Keys"] = item(dynamodb.keys().unwrap_or(&Default::default()));
            for (name, image) in [("NewImage", dynamodb.new_image()), ("OldImage", dynamodb.old_image())] {
                if let Some(image) = image {
                    change[name] = item(image);
                }
            }
            change["SequenceNumber"] = json!(dynamodb.sequence_number());
            change["SizeBytes"] = json!(dynamodb.size_bytes().unwrap_or(0));
            change["StreamViewType"] = json!(dynamodb.stream_view_type().map(|view| view.as_str()));
            change["ApproximateCreationDateTime"] =
                json!(dynamodb.approximate_creation_date_time().map_or(0.0, |time| time.as_secs_f64()));
        }
        json!({
            "eventID": record.event_id(),
            "eventName": record.event_name().map(|name| name.as_str()),
            "eventVersion": record.event_version(),
            "eventSource": "aws:dynamodb",
            "awsRegion": REGION,
            "dynamodb": change,
            "eventSourceARN": self.stream_arn,
        })
    }
}

struct Polled {
    next: Option<String>,
    empty: bool,
}

/// Equal keys must have the same lane.
fn lane(record: &Value, lanes: usize) -> usize {
    let keys = record["dynamodb"]["Keys"].to_string();
    keys.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % lanes
}
