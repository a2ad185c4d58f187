//! Dead letters: the recorder behind every dead letter queue, and the consumer of operators' redrives.
//!
//! A message reaches a dead letter queue if its consumer crashed or timed out. It is stored as a dead letter, unique by
//! consumer and event, and taken off the queue. A message on the queue `redrives` reports what an operator decided: one
//! dead letter goes back to the queue of the consumer that gave it up, or a job that redrives many runs its next part.

mod record;

use belfry_aws::dead_letters::DeadLetters;
use belfry_aws::lambda::Start;
use belfry_aws::{process, tables};
use domain::routing::Queue;

use record::SendRecorder;

/// Reads the tables' names and the URL of every consumer's queue. Only the queue of payments may be missing.
pub fn function(start: &mut Start) -> DeadLetters<SendRecorder> {
    let belfry = store::belfry(start, [tables::EVENTS].into_iter().chain(tables::OF_CONSUMERS));
    let required = Queue::ALL.into_iter().filter(|queue| !queue.is_optional()).map(Queue::name);
    belfry.config().require_queues(&mut start.settings, required);
    let recorder = SendRecorder::new(start, &belfry);
    DeadLetters::new(&belfry, process(&belfry, recorder))
}
