//! Delivery: order on a channel's queue → claim → provider → record.
//!
//! Reads: send, recipient and event notification, one consistent batch get. Writes: the claim, then what came of it;
//! with a dead letter in the same transaction where it is given up. Three round trips beside the provider's.
//!
//! Guarantees: nobody else sends while a claim's lease lives, which is longer than the provider may take; a worker
//! records only what it still holds, and does not cease to for as long as it does; SENT is never sent again. Where nobody
//! can know whether the provider sent it (no answer, or a worker that died), the channel's setting decides: again, or an
//! operator's case.
//!
//! The send in the table is what counts, the message only a nudge: a message that is lost, or comes twice or too early,
//! changes nothing, and the sweeper is behind all of it.

mod attempt;
mod record;
mod render;
mod terms;

use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_types::SdkConfig;
use channels::Providers;
use domain::Time;
use domain::recipient::Channel;
use domain::routing::{BadRouting, Queue, Routes};
use domain::send::{Claim, Ended, SendOrder, Terms};
use futures_util::future::join_all;
use ledger::{DeadLetters, EventNotifications, Ledger, LedgerError, Recipients, Sends};
use messaging::delivery::{attributes, failed, given_up, receive_count};
use messaging::order::{self, NotAnOrder};
use messaging::{Queues, Source};
use runtime::metrics::{Consumed, Delivered};
use runtime::secrets::Unavailable;
use runtime::{BadSetting, Metrics, Settings};
use texts::{BadTemplate, Texts};
use tracing::Instrument;
use uuid::Uuid;

/// How often to look again when others change the same send.
const RACES: u32 = 5;

/// The delivery of one channel, with what it needs for every batch.
pub struct Deliver {
    ledger: Ledger,
    sqs: aws_sdk_sqs::Client,
    metrics: Metrics,
    sends: Sends,
    recipients: Recipients,
    event_notifications: EventNotifications,
    dead_letters: DeadLetters,
    source: Source,
    queues: Queues,
    channel: Channel,
    providers: Providers,
    texts: Texts,
    unsubscribe: Option<render::UnsubscribeLinks>,
    terms: Terms,
    last_receive: u32,
}

/// The delivery cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BadStart {
    /// A setting is missing or wrong.
    #[error(transparent)]
    Setting(#[from] BadSetting),
    /// The routing file cannot be read.
    #[error(transparent)]
    Routing(#[from] &'static BadRouting),
    /// A template is missing or cannot be parsed.
    #[error(transparent)]
    Template(#[from] BadTemplate),
}

/// What links to unsubscribe with are signed with, on the channel that has such links.
type Links<'a> = Result<Option<render::SignedLinks<'a>>, Unavailable>;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// Its send is so now.
    Ended(Now),
    /// There was nothing to do.
    Duplicate,
    /// Nobody can work on it: it is a dead letter now.
    Refused,
    /// It is to come back at that time.
    Back(Time),
}

/// What a send is after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    Sent,
    Skipped,
    Failed,
    Held,
    Retried,
    /// Somebody else has it: the lease had ended.
    Lost,
}

/// A message that could not be worked on.
#[derive(Debug, thiserror::Error)]
enum Undelivered {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Order(#[from] NotAnOrder),
    #[error("an order for {0}, on another channel's queue")]
    Misled(&'static str),
}

impl Deliver {
    /// Reads `BELFRY_CHANNEL`, the tables' names, the URL of the channel's queue, and what the channel's providers and
    /// terms need.
    pub fn new(
        settings: &Settings,
        ledger: Ledger,
        sqs: aws_sdk_sqs::Client,
        aws: &SdkConfig,
        metrics: Metrics,
    ) -> Result<Self, BadStart> {
        let channel = terms::channel(settings)?;
        let kept = settings.notification_retention()?;
        let queue = Queue::Deliver(channel);
        let providers = match channel {
            Channel::Email => Providers::email(settings, aws)?,
            Channel::Sms => Providers::sms(settings, aws)?,
            Channel::Push => Providers::push(settings, aws)?,
            Channel::Slack | Channel::Websocket => Providers::slack(settings)?,
        };
        let links = (channel == Channel::Email).then(|| render::UnsubscribeLinks::from_settings(settings, aws));
        Ok(Self {
            ledger,
            queues: Queues::from_settings(sqs.clone(), settings, &[queue].into())?,
            sqs,
            metrics,
            sends: Sends::new(settings.text("BELFRY_SENDS_TABLE")?, kept),
            recipients: Recipients::new(
                settings.text("BELFRY_RECIPIENTS_TABLE")?,
                settings.text("BELFRY_MEMBERS_TABLE")?,
            ),
            event_notifications: EventNotifications::new(settings.text("BELFRY_EVENT_NOTIFICATIONS_TABLE")?, kept),
            dead_letters: DeadLetters::new(settings.text("BELFRY_DEAD_LETTERS_TABLE")?),
            source: Source::from_settings(settings, queue)?,
            channel,
            terms: terms::terms(settings, channel, &providers)?,
            providers,
            texts: Texts::load(Routes::load()?)?,
            unsubscribe: links.transpose()?,
            last_receive: settings.last_receive()?,
        })
    }

    /// Works on one batch, all its messages at once.
    pub async fn handle(&self, batch: SqsEvent) -> SqsBatchResponse {
        // Before anything is claimed: fetching a secret takes time that a claim's lease is not made for.
        let links = match &self.unsubscribe {
            Some(links) => links.signed().await.map(Some),
            None => Ok(None),
        };
        let done = join_all(batch.records.iter().map(|message| self.one(message, &links))).await;
        let mut response = SqsBatchResponse::default();
        let mut delivered = Delivered::default();
        let mut dead_letters = 0;
        for (message, done) in batch.records.iter().zip(done) {
            // What is given up is a dead letter in the same transaction.
            dead_letters += u32::from(matches!(done, Done::Refused | Done::Ended(Now::Failed | Now::Held)));
            match done {
                Done::Ended(Now::Sent) => delivered.sent += 1,
                Done::Ended(Now::Skipped) => delivered.skipped += 1,
                Done::Ended(Now::Failed) => delivered.failed += 1,
                Done::Ended(Now::Held) => delivered.held += 1,
                Done::Ended(Now::Retried) => delivered.retried += 1,
                Done::Duplicate | Done::Ended(Now::Lost) => delivered.duplicates += 1,
                Done::Refused => {}
                Done::Back(_) => response.batch_item_failures.push(failed(message)),
            }
        }
        self.metrics.delivered(self.channel.as_str(), &delivered);
        if dead_letters > 0 {
            self.metrics.consumed(&self.source.consumer, &Consumed { dead_letters, ..Consumed::default() });
        }
        response
    }

    async fn one(&self, message: &SqsMessage, links: &Links<'_>) -> Done {
        let order = order::read(message.body.as_deref().unwrap_or_default());
        let message_id = message.message_id.as_deref().unwrap_or_default();
        let attributes = attributes(message);
        let trace = attributes.get("traceparent").and_then(|text| domain::Trace::parse(text).ok());
        let span = tracing::info_span!(
            "send",
            message_id,
            channel = self.channel.as_str(),
            event_id = order.as_ref().ok().map(|order| order.event_id.as_str()),
            notification_id = order.as_ref().ok().map(|order| order.notification_id.to_string()),
            trace_id = trace.as_ref().map(domain::Trace::trace_id),
        );
        let read = order.as_ref().ok().cloned();
        let worked = async {
            let done = match order {
                Ok(order) if order.channel != self.channel => Err(Undelivered::Misled(order.channel.as_str())),
                Ok(order) => self.work(&order, order::redrive(&attributes), links).await.map_err(Undelivered::from),
                Err(problem) => Err(problem.into()),
            };
            match done {
                Ok(Done::Back(at)) => self.put_back(message, at).await,
                Ok(done) => done,
                // What is stored, or to be stored, will be no better the next time.
                Err(problem @ Undelivered::Ledger(LedgerError::Corrupt(_) | LedgerError::Unwritable(_))) => {
                    self.refuse(message, read.as_ref(), &problem).await
                }
                Err(Undelivered::Ledger(error)) => {
                    tracing::warn!(%error, "message comes back");
                    let wait = self.terms.backoff.after(receive_count(message), rand::random());
                    self.source.come_back(&self.sqs, message, wait).await;
                    Done::Back(Time::now())
                }
                Err(problem @ (Undelivered::Order(_) | Undelivered::Misled(_))) => {
                    self.refuse(message, None, &problem).await
                }
            }
        };
        worked.instrument(span).await
    }

    /// Nobody can work on it: a dead letter, of its send where the message says which.
    async fn refuse(&self, message: &SqsMessage, order: Option<&SendOrder>, problem: &Undelivered) -> Done {
        let given_up = match order {
            Some(order) => order::unworkable(message, &self.source, order, problem.to_string()),
            None => given_up(message, &self.source, None, problem.to_string()),
        };
        match self.dead_letters.record(&self.ledger, &given_up).await {
            Ok(_) => {
                tracing::error!(dead_letter_id = %given_up.dead_letter_id(), reason = given_up.reason, "dead letter");
                Done::Refused
            }
            // The queue's redrive policy takes it in the end.
            Err(error) => {
                tracing::error!(%error, %problem, "dead letter not written, message comes back");
                Done::Back(Time::now())
            }
        }
    }

    /// Puts a message back until its send can be had. The last time it is let go: what it asks for is in the table,
    /// where the sweeper finds it.
    async fn put_back(&self, message: &SqsMessage, at: Time) -> Done {
        if receive_count(message) >= self.last_receive {
            return Done::Duplicate;
        }
        // Not a moment too early, or it would have to be put back again.
        let wait = at.since(Time::now()) + Duration::from_millis(500);
        self.source.come_back(&self.sqs, message, wait).await;
        Done::Back(at)
    }

    async fn work(&self, order: &SendOrder, redrive: Option<Uuid>, links: &Links<'_>) -> Result<Done, LedgerError> {
        let claim = Uuid::now_v7();
        let mut unanswered = None;
        for _ in 0..RACES {
            let told = self.event_notifications.key(&order.event_id, order.audience, &order.group);
            let keys = [self.sends.key(order), self.recipients.key(order.audience, &order.user_id), told];
            let found = self.ledger.get_all(&keys).await?;
            let Some(send) = self.sends.among(&found, order)? else {
                tracing::warn!("no such send: it has outlived its retention");
                return Ok(Done::Duplicate);
            };
            // Stored by the attempt before, whose answer was lost.
            let claimed = if send.is_held_by(claim) {
                send
            } else if let Some(error) = unanswered {
                return Err(error);
            } else {
                match send.claim(claim, redrive, &self.terms, Time::now()) {
                    Claim::Settled => {
                        tracing::info!(status = send.state.as_str(), "nothing to do");
                        return Ok(Done::Duplicate);
                    }
                    Claim::Wait(until) => return Ok(Done::Back(until)),
                    Claim::GivenUp(next) => match self.record(&next).await? {
                        Some(now) => return Ok(Done::Ended(now)),
                        None => continue,
                    },
                    Claim::Taken(next) => match self.sends.store(&self.ledger, &next).await {
                        Ok(true) => *next,
                        Ok(false) => continue,
                        // The claim may be made, and would then hold the send for nothing until its lease ends: look.
                        Err(error @ LedgerError::Unavailable { .. }) => {
                            unanswered = Some(error);
                            continue;
                        }
                        Err(error) => return Err(error),
                    },
                }
            };
            let recipient = self.recipients.among(&found, order.audience, &order.user_id);
            let told = self.event_notifications.among(&found, &keys[2]);
            let attempted = match recipient.and_then(|recipient| Ok((recipient, told?))) {
                Ok((recipient, told)) => self.attempt(&claimed, recipient.as_ref(), told.as_ref(), links).await,
                Err(corrupt) => Ended::Refused(corrupt.to_string()).into(),
            };
            return self.conclude(&claimed, attempted, &found).await.map(Done::Ended);
        }
        Err(LedgerError::Contended { attempts: RACES })
    }
}

impl std::fmt::Debug for Deliver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deliver").field("channel", &self.channel).finish_non_exhaustive()
    }
}
