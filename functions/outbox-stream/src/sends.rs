//! Stream of the sends table → each send's channel queue.
//!
//! Nothing is looked up and nothing is written: a second message finds its send claimed or done. A queue that is out of
//! reach stops the batch at its first record that did not get out; a send that a queue refuses, or that cannot be read,
//! holds nobody up: the sweeper finds it overdue.

use std::time::Duration;

use aws_lambda_events::dynamodb::EventRecord;
use aws_lambda_events::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use domain::send::ChannelSend;
use messaging::queues::{Parcel, SendError};
use runtime::metrics::Relayed;

use crate::OutboxStream;

impl OutboxStream {
    pub(crate) async fn relay_sends(&self, records: &[EventRecord]) -> DynamoDbEventResponse {
        let read = |record: &EventRecord| {
            let send = self.sends.parse(record.change.new_image.clone());
            send.inspect_err(|problem| tracing::error!(record_id = record.event_id, %problem, "send cannot be read"))
                .ok()
        };
        let sends: Vec<(&EventRecord, ChannelSend)> =
            records.iter().filter_map(|record| Some((record, read(record)?))).collect();
        let parcels: Vec<Parcel<'_>> = sends.iter().map(|(_, send)| Parcel::send(send, Duration::ZERO)).collect();
        let mut response = DynamoDbEventResponse::default();
        let mut relayed = Relayed::default();
        for ((record, send), sent) in sends.iter().zip(self.channel_queues.send(&parcels).await) {
            match sent {
                Ok(()) => relayed.published += 1,
                Err(error @ SendError::Refused(_)) => {
                    relayed.unpublished += 1;
                    let notification_id = send.id.notification_id;
                    tracing::error!(%notification_id, reason = %error, "send refused by its queue");
                }
                Err(error @ SendError::Unavailable(_)) => {
                    relayed.unpublished += 1;
                    if response.batch_item_failures.is_empty() {
                        let record_id = record.event_id.as_str();
                        tracing::warn!(record_id, reason = %error, "relay stopped, the mapping comes back from here");
                        let mut failure = DynamoDbBatchItemFailure::default();
                        failure.item_identifier = record.change.sequence_number.clone();
                        response.batch_item_failures.push(failure);
                    }
                }
            }
        }
        self.metrics.relayed("sends", &relayed);
        response
    }
}
