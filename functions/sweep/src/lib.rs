//! The sweeper: runs on a schedule and takes care of what others left behind.
//!
//! `{"task": "outbox"}`, every minute: entries that the stream did not get out. `{"task": "sends"}`, every minute: sends
//! that are overdue. `{"task": "orders"}`, every minute: orders past their deadline. `{"task": "anomalies"}`, every hour: counts what an operator has to look at. What is done with is not deleted here: it carries the moment of its expiry,
//! and DynamoDB deletes it.

mod anomalies;
mod orders;
mod outbox;
mod sends;

use std::time::Duration;

use belfry_aws::lambda::Start;
use belfry_aws::tables::EVENTS;
use belfry_aws::{Belfry, Entity, Error};
use domain::order::Order;
use domain::recipient::Channel;
use domain::routing::{Queue, Routes};
use ledger::{DeadLetters, Events, Ledger, LedgerError, Sends};
use messaging::publisher::Persistence;
use messaging::{BadStart, Publisher, Queues};
use runtime::{Metrics, Settings};
use serde::{Deserialize, Serialize};

/// The sweeper, with what it needs for every run.
#[derive(Debug)]
pub struct Sweep {
    belfry: Belfry,
    ledger: Ledger,
    metrics: Metrics,
    events: Events,
    dead_letters: DeadLetters,
    sends: Sends,
    channel_queues: Queues,
    grace: Duration,
    publisher: Publisher,
    persistence: Persistence,
    batch: u16,
    lease: Duration,
    retention: Option<Duration>,
    marks_kept: Duration,
    sends_kept: Option<Duration>,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// Publish what is overdue.
    Outbox,
    /// Send for what is overdue.
    Sends,
    /// Cancel orders that stand still past their deadline.
    Orders,
    /// Count what an operator has to look at.
    Anomalies,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Entries published, or sends sent for.
    pub published: u32,
    /// Those that did not get out this time.
    pub unpublished: u32,
    /// What an operator has to look at.
    pub anomalies: u32,
}

/// A run failed. The next one continues.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "they are the errors that they wrap")]
pub enum Failed {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Kernel(#[from] Error),
}

/// The kernel, with the tables of the tasks that use it.
pub fn kernel(start: &mut Start) -> Belfry {
    store::belfry(start, [EVENTS, Order::TABLE])
}

impl Sweep {
    /// Reads the tables' names, the URL of every subscribed queue, `BELFRY_OUTBOX_BATCH`, `BELFRY_OUTBOX_LEASE`,
    /// retention and backoff.
    pub fn new(
        belfry: Belfry,
        settings: &Settings,
        ledger: Ledger,
        sqs: aws_sdk_sqs::Client,
        metrics: Metrics,
    ) -> Result<Self, BadStart> {
        let lease = settings.duration("BELFRY_OUTBOX_LEASE", Duration::from_secs(30), Duration::from_secs(1))?;
        let batch = settings.whole("BELFRY_OUTBOX_BATCH", 50, 1..=200)?;
        Ok(Self {
            belfry,
            ledger,
            metrics,
            events: Events::new(settings.text("BELFRY_EVENTS_TABLE")?).with_grace(settings.stream_grace()?),
            dead_letters: DeadLetters::new(settings.text("BELFRY_DEAD_LETTERS_TABLE")?),
            sends: Sends::new(settings.text("BELFRY_SENDS_TABLE")?, settings.notification_retention()?),
            channel_queues: Queues::from_settings(sqs.clone(), settings, &Channel::SENT.map(Queue::Deliver).into())?,
            grace: settings.stream_grace()?,
            publisher: Publisher::new(settings, sqs, Routes::load()?)?,
            persistence: Persistence::from_settings(settings)?,
            batch: u16::try_from(batch).unwrap_or(u16::MAX),
            lease,
            retention: settings.event_retention()?,
            marks_kept: settings.processed_retention()?,
            sends_kept: settings.notification_retention()?,
        })
    }

    /// One run.
    pub async fn handle(&self, task: Task) -> Result<Swept, Failed> {
        match task {
            Task::Outbox => Ok(self.sweep_outbox().await?),
            Task::Sends => Ok(self.sweep_sends().await?),
            Task::Orders => Ok(self.sweep_orders().await?),
            Task::Anomalies => self.count_anomalies().await,
        }
    }
}
