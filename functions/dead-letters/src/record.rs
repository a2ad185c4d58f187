//! The recorder: stores what dead letter queues hold. A message about a send is only a nudge for it, and the send is in its
//! table: the sweeper re-enqueues it, and a send that is given up has a dead letter of its own. But nobody re-enqueues a
//! send that was given up and redriven by this very message: its dead letter opens again.

use belfry_aws::consumer::Received;
use belfry_aws::dead_letter::{FailedEvent, GivenUp};
use belfry_aws::dead_letters::{CRASHED, Recorder};
use belfry_aws::lambda::Start;
use belfry_aws::metrics::Consumed;
use belfry_aws::{Belfry, Config, Error, Failure, Process, Processed, Queue, Timestamp};
use domain::routing;
use domain::send::{ChannelSend, SendOrder};
use ledger::{Ledger, LedgerError, Sends};
use messaging::order;

/// Records the messages of every dead letter queue.
#[derive(Debug, Clone)]
pub struct SendRecorder {
    belfry: Belfry,
    ledger: Ledger,
    sends: Sends,
}

impl SendRecorder {
    pub fn new(start: &mut Start, belfry: &Belfry) -> Self {
        let sends = Sends::new(start.settings.text("BELFRY_SENDS_TABLE"), None);
        Self { belfry: belfry.clone(), ledger: Ledger::new(start.dynamodb().clone()), sends }
    }

    async fn record(&self, message: &Received) -> Result<Processed, Error> {
        if let Some(routing::Queue::Deliver(channel)) = routing::Queue::named(&message.queue.name)
            && let Ok(order) = order::read(&message.body)
            && order.channel == channel
        {
            match self.sends.get(&self.ledger, &order).await {
                Ok(Some(send)) => return self.record_send(message, &send).await,
                // Its retention is over.
                Ok(None) => {}
                Err(LedgerError::Corrupt(corrupt)) => {
                    return self.keep(&unworkable(message, &order, format!("{CRASHED}; {corrupt}"))).await;
                }
                Err(error) => return Err(Error::Unavailable { attempts: 1, reason: error.to_string() }),
            }
        }
        Recorder::record(&self.belfry, message).await
    }

    async fn record_send(&self, message: &Received, send: &ChannelSend) -> Result<Processed, Error> {
        if send.is_opened_by(order::redrive(&message.attributes)) {
            let given_up = order::given_up(send, CRASHED.to_owned());
            let given_up = given_up.map_err(|error| Error::Unwritable(error.into()))?;
            return self.keep(&kernel_form(given_up)).await;
        }
        let (notification_id, status) = (send.order.notification_id, send.state.as_str());
        tracing::warn!(%notification_id, status, "delivery job reached the DLQ; the sweeper re-enqueues the send");
        Ok(Processed::Duplicate)
    }

    async fn keep(&self, given_up: &GivenUp) -> Result<Processed, Error> {
        let stored = self.belfry.record_dead_letter(given_up).await?;
        Ok(if stored { Processed::DeadLetter } else { Processed::Duplicate })
    }
}

/// A delivery job that cannot be worked on, as the dead letter of its send keeps it.
fn unworkable(message: &Received, order: &SendOrder, reason: String) -> GivenUp {
    let event = message.attributes.get("event_type").map(|event_type| FailedEvent {
        event_id: order.event_id.clone(),
        event_type: event_type.clone(),
        recorded_at: Timestamp::now(),
    });
    GivenUp { event, identity: Some(("send", order.notification_id.to_string())), ..message.give_up(reason) }
}

fn kernel_form(given_up: domain::dead_letter::GivenUp) -> GivenUp {
    GivenUp {
        queue: given_up.queue,
        consumer: given_up.consumer,
        event: given_up.event.map(|(event_id, event_type, recorded_at)| FailedEvent {
            event_id,
            event_type,
            recorded_at,
        }),
        identity: given_up.notification_id.map(|id| ("send", id.to_string())),
        message_id: given_up.message_id,
        reason: given_up.reason,
        receive_count: given_up.receive_count,
        body: given_up.body,
        attributes: given_up.attributes,
    }
}

impl Process for SendRecorder {
    async fn process(&self, message: &Received) -> Result<Processed, Failure> {
        // A message that cannot be recorded stays in its dead letter queue.
        self.record(message).await.map_err(|error| Failure::Unavailable(error.to_string()))
    }

    fn queue<'a>(&self, config: &'a Config, resource: &str) -> Option<&'a Queue> {
        Recorder::queue_of(config, resource)
    }

    fn report(&self, belfry: &Belfry, _consumer: &str, counts: &Consumed) {
        belfry.metrics().consumed("dead-letters", counts);
    }
}
