//! Dead letters: the recorder behind every dead letter queue, and the consumer of operators' redrives.
//!
//! A message reaches a dead letter queue if its consumer crashed or timed out. It is stored as a dead letter, unique by
//! consumer and event, and taken off the queue. A message on the queue `redrives` reports what an operator decided: one
//! dead letter goes back to the queue of the consumer that gave it up, or a job that redrives many runs its next part.

mod record;

use std::convert::Infallible;
use std::task::{Context, Poll};

use belfry_aws::aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use belfry_aws::dead_letters::{Recorder, Redrive, Redriver};
use belfry_aws::lambda::Start;
use belfry_aws::lambda_runtime::LambdaEvent;
use belfry_aws::{Belfry, Consumer, Processor, process, redriver, tables};
use domain::routing::Queue;
use futures_util::future::BoxFuture;
use tower::Service;

use record::SendRecorder;

/// The function.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    belfry: Belfry,
    recorder: Processor<SendRecorder>,
    redriver: Consumer<Redrive, Redriver>,
}

/// Reads the tables' names and the URL of every consumer's queue. Only the queue of payments may be missing.
pub fn function(start: &mut Start) -> DeadLetters {
    let belfry = store::belfry(start, [tables::EVENTS].into_iter().chain(tables::OF_CONSUMERS));
    let required = Queue::ALL.into_iter().filter(|queue| !queue.is_optional()).map(Queue::name);
    belfry.config().require_queues(&mut start.settings, required);
    let recorder = SendRecorder::new(start, &belfry);
    DeadLetters { recorder: process(&belfry, recorder), redriver: redriver(&belfry), belfry }
}

impl Service<LambdaEvent<SqsEvent>> for DeadLetters {
    type Response = SqsBatchResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<SqsBatchResponse, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, event: LambdaEvent<SqsEvent>) -> Self::Future {
        let arn = event.payload.records.first().and_then(|message| message.event_source_arn.as_deref());
        let resource = arn.and_then(|arn| arn.rsplit(':').next()).unwrap_or_default();
        match Recorder::queue_of(self.belfry.config(), resource) {
            Some(_) => self.recorder.call(event),
            None => self.redriver.call(event),
        }
    }
}
