//! The sweeper: runs on a schedule and takes care of what others left behind.
//!
//! `{"task": "outbox"}`, every minute: events that the stream did not get out. `{"task": "sends"}`, every minute: overdue
//! sends. `{"task": "orders"}`, every minute: orders past their deadline. `{"task": "anomalies"}`, every hour: counts what an
//! operator has to look at. Nothing is deleted here: finished items carry the time of their expiry, and DynamoDB deletes them.

mod anomalies;
mod orders;
mod sends;

use std::task::{Context, Poll};
use std::time::Duration;

use belfry_aws::lambda::Start;
use belfry_aws::lambda_runtime::LambdaEvent;
use belfry_aws::{Belfry, Entity, Error, tables};
use domain::order::Order;
use domain::recipient::Channel;
use domain::routing::{Queue, Routes};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use store::sends as send_table;
use tower::Service;

/// No new batch starts after this long, so that a run ends within the function's time limit.
const BUDGET: Duration = Duration::from_secs(20);

/// How many items are claimed or changed at the same time.
const PARALLEL_UPDATES: usize = 10;

/// The function.
#[derive(Debug, Clone)]
pub struct Sweep {
    belfry: Belfry,
    send_retention: Option<Duration>,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// Publish overdue events.
    Outbox,
    /// Re-enqueue overdue sends.
    Sends,
    /// Cancel orders past their deadline.
    Orders,
    /// Count what an operator has to look at.
    Anomalies,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Events published, sends re-enqueued or orders cancelled.
    pub published: u32,
    /// Those that did not get out this time.
    pub unpublished: u32,
    /// What an operator has to look at.
    pub anomalies: u32,
}

/// Reads the tables' names, the URL of every queue that events or sends go to, `BELFRY_OUTBOX_BATCH`,
/// `BELFRY_OUTBOX_LEASE`, retention and backoff.
pub fn function(start: &mut Start) -> Sweep {
    let belfry = store::belfry(start, [tables::EVENTS, tables::DEAD_LETTERS, Order::TABLE, send_table::TABLE]);
    let queues = Routes::load().map(Routes::all_queues).unwrap_or_default();
    let queues = queues.into_iter().chain(Channel::SENT.map(Queue::Deliver)).filter(|queue| !queue.is_optional());
    belfry.config().require_queues(&mut start.settings, queues.map(Queue::name));
    Sweep { belfry, send_retention: store::notification_retention(&mut start.settings) }
}

impl Service<LambdaEvent<Task>> for Sweep {
    type Response = Swept;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Swept, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, event: LambdaEvent<Task>) -> Self::Future {
        let sweep = self.clone();
        Box::pin(async move {
            match event.payload {
                Task::Outbox => {
                    let swept = sweep.belfry.sweep_outbox(BUDGET).await?;
                    Ok(Swept { published: swept.published, unpublished: swept.unpublished, anomalies: 0 })
                }
                Task::Sends => sweep.sweep_sends().await,
                Task::Orders => sweep.sweep_orders().await,
                Task::Anomalies => sweep.count_anomalies().await,
            }
        })
    }
}
