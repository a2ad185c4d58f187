//! One function for everything about dead letters: the recorder behind every dead letter queue, and the consumer of
//! redrives.

use std::convert::Infallible;
use std::task::{Context, Poll};

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use futures_util::future::BoxFuture;
use lambda_runtime::LambdaEvent;
use tower::Service;

use super::{Recorder, Redrive, Redriver, recorder, redriver};
use crate::Belfry;
use crate::consumer::{Consumer, Process, Processor};

/// Records the messages of dead letter queues and carries out operators' redrives. Put it behind every dead letter queue
/// and behind the queue `redrives`.
#[derive(Debug, Clone)]
pub struct DeadLetters<P> {
    belfry: Belfry,
    recorder: Processor<P>,
    redriver: Consumer<Redrive, Redriver>,
}

/// The function with the kernel's recorder.
pub fn dead_letters(belfry: &Belfry) -> DeadLetters<Recorder> {
    DeadLetters::new(belfry, recorder(belfry))
}

impl<P: Process> DeadLetters<P> {
    /// The function with a recorder of the application's own.
    pub fn new(belfry: &Belfry, recorder: Processor<P>) -> Self {
        Self { belfry: belfry.clone(), recorder, redriver: redriver(belfry) }
    }
}

impl<P: Process> Service<LambdaEvent<SqsEvent>> for DeadLetters<P> {
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
