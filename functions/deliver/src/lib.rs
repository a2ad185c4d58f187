//! Delivery: a delivery job on a channel's queue → claim → provider → record.
//!
//! Reads the send, the recipient and the event notification in one consistent batch get. Writes the claim, then the
//! outcome, with a dead letter in the same transaction if the send is given up. Three round trips besides the provider's.
//!
//! No other worker sends while a claim's lease lasts, which is longer than the provider may take. A worker records only
//! what it still holds, and keeps trying for as long as it does. A SENT send is never sent again. If nobody can know
//! whether the provider sent it (no response, or a worker that died), the channel's setting decides: it is sent again, or
//! held for an operator.
//!
//! There is no processed mark, because the send's state is one. A job that is lost, duplicated or early changes nothing,
//! and the sweeper enqueues overdue sends again.

mod attempt;
mod claim;
mod policy;
mod record;
mod render;

use std::sync::{Mutex, PoisonError};

use belfry_aws::dead_letter::GivenUp;
use belfry_aws::lambda::Start;
use belfry_aws::metrics::Consumed;
use belfry_aws::{Belfry, Error, Failure, Process, Processed, Processor, Received, Timestamp, Trace, process, tables};
use channels::Providers;
use domain::recipient::Channel;
use domain::routing::{Queue, Routes};
use domain::send::{DeliveryPolicy, SendId};
use runtime::secrets::Unavailable;
use store::metrics::Delivered;
use store::{delivery_job, event_notifications, metrics, recipients, sends};
use texts::Texts;
use tracing::Instrument;

/// The worker of one channel.
pub struct Deliver {
    belfry: Belfry,
    channel: Channel,
    providers: Providers,
    policy: DeliveryPolicy,
    texts: Texts,
    unsubscribe: Option<render::UnsubscribeLinks>,
    retention: Option<std::time::Duration>,
    /// What the batch has come to so far.
    delivered: Mutex<Delivered>,
}

/// The signing key of unsubscribe links, for the channel that has such links.
type Links<'a> = Result<Option<render::SignedLinks<'a>>, Unavailable>;

/// What became of a delivery job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobOutcome {
    /// Its send was attempted.
    Attempted(SendOutcome),
    /// There was nothing to do.
    NothingToDo,
    /// It came too early.
    Early(Timestamp),
}

/// What became of a send after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendOutcome {
    Sent,
    Skipped,
    Failed,
    Held,
    Retried,
    /// The lease had ended, and another worker has it.
    Lost,
}

/// Reads `BELFRY_CHANNEL`, the tables' names, the URL of the channel's queue, and the settings of the channel's providers
/// and policy.
pub fn function(start: &mut Start) -> Processor<Option<Deliver>> {
    let own = [sends::TABLE, recipients::TABLE, recipients::MEMBERS, event_notifications::TABLE];
    let belfry = store::belfry(start, [tables::DEAD_LETTERS].into_iter().chain(own));
    let deliver = Deliver::new(start, &belfry);
    process(&belfry, deliver)
}

impl Deliver {
    fn new(start: &mut Start, belfry: &Belfry) -> Option<Self> {
        let channel = policy::channel(&mut start.settings)?;
        belfry.config().require_queues(&mut start.settings, [Queue::Deliver(channel).name()]);
        let retention = store::notification_retention(&mut start.settings);
        let routes = start.accept(Routes::load());
        let texts = routes.and_then(|routes| start.accept(Texts::load(routes)));
        // Providers and secrets read their settings with another reader.
        let values = start.settings.between("", "").map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (settings, aws) = (values.collect::<runtime::Settings>(), start.aws.clone());
        let providers = start.accept(match channel {
            Channel::Email => Providers::email(&settings, &aws),
            Channel::Sms => Providers::sms(&settings, &aws),
            Channel::Push => Providers::push(&settings, &aws),
            Channel::Slack | Channel::Websocket => Providers::slack(&settings),
        });
        let time_limit = start.accept(channels::time_limit(&settings));
        let unsubscribe =
            (channel == Channel::Email).then(|| start.accept(render::UnsubscribeLinks::from_settings(&settings, &aws)));
        let (providers, time_limit) = (providers?, time_limit?);
        let longest = time_limit * (1 + u32::from(providers.second.is_some()));
        let policy = policy::policy(&mut start.settings, belfry.config(), channel, longest);
        Some(Self {
            belfry: belfry.clone(),
            channel,
            providers,
            policy,
            texts: texts?,
            unsubscribe: match unsubscribe {
                Some(links) => Some(links?),
                None => None,
            },
            retention,
            delivered: Mutex::default(),
        })
    }

    async fn links(&self) -> Links<'_> {
        match &self.unsubscribe {
            Some(links) => links.signed().await.map(Some),
            None => Ok(None),
        }
    }

    async fn deliver(&self, id: &SendId, message: &Received) -> Result<Processed, Failure> {
        // Before anything is claimed: fetching a secret takes time that a claim's lease does not allow for.
        let links = self.links().await;
        let config = self.belfry.config();
        let is_last = message.receive_count >= config.last_receive;
        match self.work(id, message, &links).await {
            Ok(JobOutcome::Attempted(outcome)) => Ok(self.count(outcome)),
            Ok(JobOutcome::Early(at)) if !is_last => Err(Failure::RetryAt(at)),
            // A job that came too early too often is dropped: the sweeper enqueues the send when it is due.
            Ok(JobOutcome::NothingToDo | JobOutcome::Early(_)) => {
                self.delivered().duplicates += 1;
                Ok(Processed::Duplicate)
            }
            // What is stored, or to be stored, will not change by a retry.
            Err(error @ (Error::Corrupt(_) | Error::Unwritable(_))) => Err(Failure::Reject(error.to_string())),
            // Never a dead letter: the sweeper enqueues the send again.
            Err(error) => {
                tracing::warn!(receives = message.receive_count, %error, "delivery failed; will retry");
                let wait = config.backoff.after(message.receive_count, rand::random());
                Err(Failure::RetryAt(self.belfry.now().plus(wait)))
            }
        }
    }

    fn count(&self, outcome: SendOutcome) -> Processed {
        let mut delivered = self.delivered();
        let (count, processed) = match outcome {
            SendOutcome::Sent => (&mut delivered.sent, Processed::Processed),
            SendOutcome::Skipped => (&mut delivered.skipped, Processed::Processed),
            SendOutcome::Retried => (&mut delivered.retried, Processed::Processed),
            // The dead letter was written in the same transaction.
            SendOutcome::Failed => (&mut delivered.failed, Processed::DeadLetter),
            SendOutcome::Held => (&mut delivered.held, Processed::DeadLetter),
            SendOutcome::Lost => (&mut delivered.duplicates, Processed::Duplicate),
        };
        *count += 1;
        processed
    }

    fn delivered(&self) -> std::sync::MutexGuard<'_, Delivered> {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process for Deliver {
    async fn process(&self, message: &Received) -> Result<Processed, Failure> {
        let id = delivery_job::read(&message.body).map_err(|problem| Failure::Reject(problem.to_string()))?;
        if id.channel != self.channel {
            let (queue, channel) = (&message.queue.name, id.channel.as_str());
            return Err(Failure::Reject(format!("delivery job for {channel} on the queue {queue}")));
        }
        let trace = message.attributes.get("traceparent").and_then(|text| Trace::parse(text).ok());
        let span = tracing::info_span!(
            "send",
            event_id = id.event_id.as_str(),
            notification_id = %id.notification_id,
            trace_id = trace.as_ref().map(Trace::trace_id),
        );
        self.deliver(&id, message).instrument(span).await
    }

    /// The dead letter of its send, if the message says which.
    fn give_up(&self, message: &Received, reason: String) -> GivenUp {
        match delivery_job::read(&message.body) {
            Ok(id) if id.channel == self.channel => {
                delivery_job::unprocessable(message, &id, reason, self.belfry.now())
            }
            _ => message.give_up(reason),
        }
    }

    fn report(&self, belfry: &Belfry, consumer: &str, counts: &Consumed) {
        let delivered = std::mem::take(&mut *self.delivered());
        metrics::delivered(belfry.metrics(), self.channel, &delivered);
        if counts.dead_letters > 0 {
            let dead_letters = Consumed { dead_letters: counts.dead_letters, ..Consumed::default() };
            belfry.metrics().consumed(consumer, &dead_letters);
        }
    }
}

impl std::fmt::Debug for Deliver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deliver").field("channel", &self.channel).finish_non_exhaustive()
    }
}
