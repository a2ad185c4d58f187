//! The stream of the sends table → the queue of each send's channel.
//!
//! Nothing is read and nothing is written: a second message finds its send claimed or done. A queue that is unavailable
//! stops the batch at its first record that did not get out. A send that a queue refuses, or that cannot be read, holds up
//! nobody: the sweeper finds it overdue.

use std::time::Duration;

use belfry_aws::aws_lambda_events::dynamodb::{Event as StreamEvent, EventRecord};
use belfry_aws::aws_lambda_events::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use belfry_aws::lambda::Start;
use belfry_aws::metrics::Relayed;
use belfry_aws::{Belfry, SendError};
use domain::recipient::Channel;
use domain::routing::Queue;
use domain::send::ChannelSend;
use store::{delivery_job, sends};

/// The relay of sends.
#[derive(Debug, Clone)]
pub struct SendsRelay {
    belfry: Belfry,
}

impl SendsRelay {
    pub fn new(start: &mut Start, belfry: &Belfry) -> Self {
        belfry.config().require_tables(&mut start.settings, [sends::TABLE]);
        let queues = Channel::SENT.map(|channel| Queue::Deliver(channel).name());
        belfry.config().require_queues(&mut start.settings, queues);
        Self { belfry: belfry.clone() }
    }

    /// Whether a batch comes from the stream of the sends table.
    pub fn is_source_of(&self, batch: &StreamEvent) -> bool {
        let arn = batch.records.first().and_then(|record| record.event_source_arn.as_deref());
        let table = arn.and_then(|arn| arn.split('/').nth(1));
        table.is_some_and(|table| self.belfry.config().tables.name(sends::TABLE).is_ok_and(|name| name == table))
    }

    pub async fn relay(&self, records: &[EventRecord]) -> DynamoDbEventResponse {
        let read = |record: &EventRecord| {
            let send = sends::parse(record.change.new_image.clone().into_inner());
            send.inspect_err(|problem| tracing::error!(record_id = record.event_id, %problem, "send cannot be read"))
                .ok()
        };
        let sends: Vec<(&EventRecord, ChannelSend)> =
            records.iter().filter_map(|record| Some((record, read(record)?))).collect();
        let messages: Vec<_> = sends.iter().map(|(_, send)| delivery_job::message(send, Duration::ZERO)).collect();
        let mut response = DynamoDbEventResponse::default();
        let mut relayed = Relayed::default();
        for ((record, send), sent) in sends.iter().zip(self.belfry.send(&messages).await) {
            match sent {
                Ok(()) => relayed.published += 1,
                Err(error @ SendError::Refused(_)) => {
                    relayed.unpublished += 1;
                    let notification_id = send.id.notification_id;
                    tracing::error!(%notification_id, reason = %error, "queue refused a delivery job");
                }
                Err(error @ SendError::Unavailable(_)) => {
                    relayed.unpublished += 1;
                    if response.batch_item_failures.is_empty() {
                        let record_id = record.event_id.as_str();
                        tracing::warn!(record_id, reason = %error, "batch stopped; Lambda retries from this record");
                        let mut failure = DynamoDbBatchItemFailure::default();
                        failure.item_identifier = record.change.sequence_number.clone();
                        response.batch_item_failures.push(failure);
                    }
                }
            }
        }
        self.belfry.metrics().relayed("sends", &relayed);
        response
    }
}
