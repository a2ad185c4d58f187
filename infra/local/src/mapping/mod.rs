//! Event source mappings and schedules: what Lambda runs between an event source and a function.

mod attribute;
mod checkpoint;
mod filter;
mod queue;
mod redelivery;
mod schedule;
mod stream;
mod stream_batch;

pub(crate) use checkpoint::Checkpoints;
pub(crate) use filter::{Filter, passes};
pub(crate) use redelivery::{Redelivered, redeliver};
pub(crate) use stream::Drained;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::aws::Clients;
use crate::deliveries::Deliveries;
use crate::functions::Invocable;
use crate::provision::Provisioned;
use crate::template::Function;
use queue::QueuePoller;
use schedule::run_schedule;
use stream::StreamPoller;
use stream_batch::OnFailure;

/// What all mappings are started with.
pub(crate) struct Mappings<'a> {
    pub provisioned: &'a Provisioned,
    pub checkpoints: Checkpoints,
    /// Wakes the stream pollers at every write of an embedded engine.
    pub writes: Option<watch::Receiver<u64>>,
    pub deliveries: Deliveries,
    pub stop: CancellationToken,
    pub tasks: TaskTracker,
    /// The streams that are polled.
    pub streams: Vec<Drained>,
}

impl Mappings<'_> {
    /// Starts the mappings and schedules of a function. They have the permissions of the function's role.
    pub fn start(&mut self, function: &Function, invocable: &Invocable, clients: &Clients) {
        for mapping in &function.streams {
            let drained = Drained::default();
            let poller = StreamPoller {
                mapping: mapping.clone(),
                stream_arn: self.provisioned.stream_arn(&mapping.table).to_owned(),
                function: invocable.clone(),
                on_failure: mapping.on_failure.as_ref().map(|queue| OnFailure {
                    sqs: clients.sqs.clone(),
                    queue_url: self.provisioned.queue_url(queue).to_owned(),
                }),
                clients: clients.clone(),
                checkpoints: self.checkpoints.clone(),
                deliveries: self.deliveries.clone(),
                writes: self.writes.clone(),
                drained: drained.clone(),
            };
            self.tasks.spawn(poller.run(self.stop.clone()));
            self.streams.push(drained);
        }
        for mapping in &function.queues {
            let poller = QueuePoller {
                mapping: mapping.clone(),
                queue_url: self.provisioned.queue_url(&mapping.queue).to_owned(),
                queue_arn: self.provisioned.queue_arn(&mapping.queue).to_owned(),
                function: invocable.clone(),
                clients: clients.clone(),
                deliveries: self.deliveries.clone(),
            };
            self.tasks.spawn(poller.run(self.stop.clone()));
        }
        for mapping in &function.schedules {
            self.tasks.spawn(run_schedule(mapping.clone(), invocable.clone(), self.stop.clone()));
        }
    }
}
