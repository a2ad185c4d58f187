//! The recorder: a message that died without a word becomes a dead letter.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use domain::dead_letter::GivenUp;
use domain::routing::Queue;
use domain::send::ChannelSend;
use futures_util::future::join_all;
use ledger::LedgerError;
use messaging::delivery::{Delivery, attributes, failed, given_up};
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
        if let Some(Queue::Deliver(channel)) = Queue::named(&source.queue)
            && let Ok(order) = order::read(message.body.as_deref().unwrap_or_default())
            && order.channel == channel
        {
            match self.sends.get(self.ledger(), &order).await {
                Ok(Some(send)) => return self.record_order(message, &send).await,
                // Its retention is over.
                Ok(None) => {}
                Err(LedgerError::Corrupt(corrupt)) => {
                    let reason = format!("{REASON}; {corrupt}");
                    return self.keep(&order::unworkable(message, source, &order, reason)).await;
                }
                Err(error) => return Err(error),
            }
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
        self.keep(&given_up).await
    }

    /// An order is only a nudge, and the send is in its table: the sweeper sends for it again, and where it is given up,
    /// that has written a dead letter of its own. But nobody sends again for what was given up, and redriven by this
    /// very message: its dead letter opens again.
    async fn record_order(&self, message: &SqsMessage, send: &ChannelSend) -> Result<Recorded, LedgerError> {
        if send.is_opened_by(order::redrive(&attributes(message))) {
            return self.keep(&order::given_up(send, REASON.to_owned())?).await;
        }
        let (notification_id, status) = (send.id.notification_id, send.state.as_str());
        tracing::warn!(%notification_id, status, "the order died, its send goes on");
        Ok(Recorded::Done)
    }

    async fn keep(&self, given_up: &GivenUp) -> Result<Recorded, LedgerError> {
        let kept = self.table.record(self.ledger(), given_up).await?;
        tracing::error!(
            dead_letter_id = %given_up.dead_letter_id(),
            consumer = given_up.consumer,
            event_id = given_up.event.as_ref().map(|(event_id, _, _)| event_id.as_str()),
            kept,
            "dead letter"
        );
        Ok(if kept { Recorded::Kept } else { Recorded::Done })
    }
}
