//! The recorder: stores what dead letter queues hold. A delivery job carries no state, and the send is in its table: the
//! sweeper re-enqueues it, and a send that is given up has a dead letter of its own. But nobody re-enqueues a send that was
//! given up and redriven by this very message: its dead letter opens again.

use belfry_aws::consumer::Received;
use belfry_aws::dead_letter::GivenUp;
use belfry_aws::dead_letters::{CRASHED, Recorder};
use belfry_aws::lambda::Start;
use belfry_aws::metrics::Consumed;
use belfry_aws::{Belfry, Config, Error, Failure, Process, Processed, Queue};
use domain::routing;
use domain::send::ChannelSend;
use store::{delivery_job, sends};

/// Records the messages of every dead letter queue.
#[derive(Debug, Clone)]
pub struct SendRecorder {
    belfry: Belfry,
}

impl SendRecorder {
    pub fn new(start: &mut Start, belfry: &Belfry) -> Self {
        belfry.config().require_tables(&mut start.settings, [sends::TABLE]);
        Self { belfry: belfry.clone() }
    }

    async fn record(&self, message: &Received) -> Result<Processed, Error> {
        if let Some(routing::Queue::Deliver(channel)) = routing::Queue::named(&message.queue.name)
            && let Ok(id) = delivery_job::read(&message.body)
            && id.channel == channel
        {
            match self.belfry.get::<ChannelSend>(&id).await {
                Ok(Some(send)) => return self.record_send(message, &send).await,
                // Its retention is over.
                Ok(None) => {}
                Err(Error::Corrupt(corrupt)) => {
                    let reason = format!("{CRASHED}; {corrupt}");
                    return self.keep(&delivery_job::unprocessable(message, &id, reason, self.belfry.now())).await;
                }
                Err(error) => return Err(error),
            }
        }
        Recorder::record(&self.belfry, message).await
    }

    async fn record_send(&self, message: &Received, send: &ChannelSend) -> Result<Processed, Error> {
        if send.is_opened_by(delivery_job::redrive(&message.attributes)) {
            return self.keep(&delivery_job::given_up(send, CRASHED.to_owned())).await;
        }
        let (notification_id, status) = (send.id.notification_id, send.state.as_str());
        tracing::warn!(%notification_id, status, "delivery job reached the DLQ; the sweeper re-enqueues the send");
        Ok(Processed::Duplicate)
    }

    async fn keep(&self, given_up: &GivenUp) -> Result<Processed, Error> {
        let stored = self.belfry.record_dead_letter(given_up).await?;
        Ok(if stored { Processed::DeadLetter } else { Processed::Duplicate })
    }
}

impl Process for SendRecorder {
    async fn process(&self, message: &Received) -> Result<Processed, Failure> {
        // A message that cannot be recorded stays in its dead letter queue.
        self.record(message).await.map_err(|error| Failure::Unavailable(error.to_string()))
    }

    fn queue(&self, config: &Config, resource: &str) -> Option<Queue> {
        Recorder::queue_of(config, resource)
    }

    fn report(&self, belfry: &Belfry, _consumer: &str, counts: &Consumed) {
        belfry.metrics().consumed("dead-letters", counts);
    }
}
