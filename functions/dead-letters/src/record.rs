//! The recorder: a message that died without a word becomes a dead letter.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use domain::routing::Queue;
use futures_util::future::join_all;
use ledger::LedgerError;
use messaging::delivery::{Delivery, failed, given_up};
use messaging::order;
use messaging::source::Source;
use runtime::metrics::Consumed;

use crate::DeadLetters;

/// What can be said of a message whose consumer said nothing.
const REASON: &str = "died without a word: its consumer crashed, timed out or could not reach the dead letters";

enum Recorded {
    /// A dead letter is open that was not before.
    Kept,
    /// There is one already, or nothing is left to do.
    Done,
}

impl DeadLetters {
    /// Records each message of a DLQ on its own; what cannot be recorded stays there and comes again.
    pub(crate) async fn record(&self, batch: &SqsEvent) -> SqsBatchResponse {
        let recorded = join_all(batch.records.iter().map(|message| self.record_one(message))).await;
        let mut response = SqsBatchResponse::default();
        let mut consumed = Consumed::default();
        for (message, recorded) in batch.records.iter().zip(recorded) {
            match recorded {
                Ok(Recorded::Kept) => consumed.dead_letters += 1,
                Ok(Recorded::Done) => consumed.duplicates += 1,
                Err(error) => {
                    tracing::error!(message_id = message.message_id, %error, "dead letter not written, message comes back");
                    consumed.retried += 1;
                    response.batch_item_failures.push(failed(message));
                }
            }
        }
        self.metrics.consumed("dead-letters", &consumed);
        response
    }

    async fn record_one(&self, message: &SqsMessage) -> Result<Recorded, LedgerError> {
        let Some(source) = Source::of_dead(&self.sources, message) else {
            return Err(LedgerError::Refused { reason: "a dead letter queue of no known consumer".to_owned() });
        };
        if let Some(Queue::Deliver(_)) = Queue::named(&source.queue)
            && let Ok(order) = order::read(message.body.as_deref().unwrap_or_default())
            && self.sends.get(self.ledger(), &order).await?.is_some()
        {
            // The message was only a nudge. The send is in its table: the sweeper sends for it again, and where it is
            // given up, that writes a dead letter of its own.
            let notification_id = order.notification_id;
            tracing::warn!(%notification_id, consumer = source.consumer, "the order died, its send goes on");
            return Ok(Recorded::Done);
        }
        let delivery = Delivery::parse(message, source).ok();
        // Its consumer may have died after the commit, or another delivery may have got through.
        if let Some(delivery) = &delivery
            && self.processed.is_marked(self.ledger(), &source.consumer, &delivery.event.event_id).await?
        {
            tracing::warn!(event_id = %delivery.event.event_id, consumer = source.consumer, "dead, but processed");
            return Ok(Recorded::Done);
        }
        let given_up = given_up(message, source, delivery.as_ref(), REASON.to_owned());
        let kept = self.table.record(self.ledger(), &given_up).await?;
        tracing::error!(
            dead_letter_id = %given_up.dead_letter_id(),
            consumer = source.consumer,
            event_id = delivery.as_ref().map(|delivery| delivery.event.event_id.as_str()),
            kept,
            "dead letter"
        );
        Ok(if kept { Recorded::Kept } else { Recorded::Done })
    }
}
