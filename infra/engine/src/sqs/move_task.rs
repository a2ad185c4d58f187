//! Moving dead letters back: StartMessageMoveTask, CancelMessageMoveTask and ListMessageMoveTasks.
//!
//! rustack refuses the first two and lists nothing. As on AWS, one task at a time takes messages out of a dead-letter
//! queue and sends each, with its attributes, to the queue it came from or to the one that is named; it ends when it
//! finds no more. A message is deleted only when it has been sent, so a task that dies leaves it in both queues at
//! worst.

mod run;

use std::sync::{Arc, Mutex, PoisonError};

use rustack_sqs_model::error::{SqsError, SqsErrorCode};
use rustack_sqs_model::input::{
    CancelMessageMoveTaskInput, GetQueueAttributesInput, ListDeadLetterSourceQueuesInput, ListMessageMoveTasksInput,
    StartMessageMoveTaskInput,
};
use rustack_sqs_model::output::{CancelMessageMoveTaskOutput, ListMessageMoveTasksOutput, StartMessageMoveTaskOutput};
use rustack_sqs_model::types::ListMessageMoveTasksResultEntry;
use tokio::sync::watch;
use uuid::Uuid;

use super::Queues;

const WAITING: &str = "ApproximateNumberOfMessages";

/// Every task since the engine started, the youngest last.
#[derive(Clone, Default)]
pub(super) struct MoveTasks(Arc<Mutex<Vec<Arc<Task>>>>);

/// One task: what it was asked for, and how far it is.
struct Task {
    handle: String,
    source_arn: String,
    source_url: String,
    destination_arn: Option<String>,
    per_second: Option<i32>,
    to_move: i64,
    started_millis: u64,
    progress: watch::Sender<Progress>,
}

#[derive(Debug, Clone, PartialEq)]
struct Progress {
    moved: i64,
    state: State,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Running,
    Cancelling,
    Cancelled,
    Completed,
    Failed { reason: String },
}

impl State {
    fn is_active(&self) -> bool {
        matches!(self, State::Running | State::Cancelling)
    }

    fn name(&self) -> &'static str {
        match self {
            State::Running => "RUNNING",
            State::Cancelling => "CANCELLING",
            State::Cancelled => "CANCELLED",
            State::Completed => "COMPLETED",
            State::Failed { .. } => "FAILED",
        }
    }
}

impl Queues {
    /// Starts a task, and answers before it has moved anything.
    pub(super) async fn start_move(
        &self,
        ask: StartMessageMoveTaskInput,
    ) -> Result<StartMessageMoveTaskOutput, SqsError> {
        let source_url = self.rustack.queue_url_for_arn(&ask.source_arn)?;
        let to_move = self.waiting_in(&source_url).await.map_err(|_| no_such("SourceArn"))?;
        if let Some(destination) = &ask.destination_arn {
            let url = self.rustack.queue_url_for_arn(destination)?;
            self.waiting_in(&url).await.map_err(|_| no_such("DestinationArn"))?;
            if *destination == ask.source_arn {
                return Err(SqsError::invalid_parameter_value("Source and destination must not be the same queue."));
            }
        }
        if ask.max_number_of_messages_per_second.is_some_and(|rate| !(1..=500).contains(&rate)) {
            return Err(SqsError::invalid_parameter_value("MaxNumberOfMessagesPerSecond must be between 1 and 500."));
        }
        let sources = ListDeadLetterSourceQueuesInput { queue_url: source_url.clone(), ..Default::default() };
        if self.rustack.list_dead_letter_source_queues(sources).await?.queue_urls.is_empty() {
            return Err(SqsError::invalid_parameter_value("Source queue must be configured as a Dead Letter Queue."));
        }
        let task = Arc::new(Task {
            handle: Uuid::now_v7().to_string(),
            source_arn: ask.source_arn,
            source_url,
            destination_arn: ask.destination_arn,
            per_second: ask.max_number_of_messages_per_second,
            to_move,
            started_millis: (self.clock)(),
            progress: watch::Sender::new(Progress { moved: 0, state: State::Running }),
        });
        self.moves.admit(&task)?;
        let handle = task.handle.clone();
        tokio::spawn(run::to_its_end(task, self.clone()));
        Ok(StartMessageMoveTaskOutput { task_handle: Some(handle) })
    }

    async fn waiting_in(&self, queue_url: &str) -> Result<i64, SqsError> {
        let ask =
            GetQueueAttributesInput { queue_url: queue_url.to_owned(), attribute_names: vec![WAITING.to_owned()] };
        let answer = self.rustack.get_queue_attributes(ask).await?;
        Ok(answer.attributes.get(WAITING).and_then(|count| count.parse().ok()).unwrap_or(0))
    }
}

impl MoveTasks {
    fn with<T>(&self, look: impl FnOnce(&mut Vec<Arc<Task>>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Checked and listed under one lock: of two that start at once, one is refused.
    fn admit(&self, task: &Arc<Task>) -> Result<(), SqsError> {
        self.with(|tasks| {
            let busy =
                |other: &Arc<Task>| other.source_arn == task.source_arn && other.progress.borrow().state.is_active();
            if tasks.iter().any(busy) {
                return Err(SqsError::invalid_parameter_value(
                    "There is already a task running. Only one active task is allowed for a source queue arn at a \
                     given time.",
                ));
            }
            tasks.push(Arc::clone(task));
            Ok(())
        })
    }

    /// Tells a task to end; it does so before its next message.
    pub(super) fn cancel(&self, ask: &CancelMessageMoveTaskInput) -> Result<CancelMessageMoveTaskOutput, SqsError> {
        let found = self.with(|tasks| tasks.iter().find(|task| task.handle == ask.task_handle).map(Arc::clone));
        let task = found.ok_or_else(|| SqsError::resource_not_found("Task does not exist."))?;
        let cancelled = task.progress.send_if_modified(|progress| {
            let running = progress.state == State::Running;
            if running {
                progress.state = State::Cancelling;
            }
            running
        });
        if !cancelled {
            return Err(SqsError::new(SqsErrorCode::UnsupportedOperation, "Only a running task can be cancelled."));
        }
        let moved = task.progress.borrow().moved;
        Ok(CancelMessageMoveTaskOutput { approximate_number_of_messages_moved: Some(moved) })
    }

    /// The tasks of one source, the youngest first; as on AWS one, if no number is asked for, and at most ten.
    pub(super) fn list(&self, ask: &ListMessageMoveTasksInput) -> Result<ListMessageMoveTasksOutput, SqsError> {
        let most = match ask.max_results.unwrap_or(1) {
            most @ 1..=10 => usize::try_from(most).unwrap_or(1),
            _ => return Err(SqsError::invalid_parameter_value("MaxResults must be between 1 and 10.")),
        };
        let results = self.with(|tasks| {
            let of_the_source = tasks.iter().rev().filter(|task| task.source_arn == ask.source_arn);
            of_the_source.take(most).map(|task| task.described()).collect()
        });
        Ok(ListMessageMoveTasksOutput { results })
    }
}

impl Task {
    fn described(&self) -> ListMessageMoveTasksResultEntry {
        let Progress { moved, state } = self.progress.borrow().clone();
        ListMessageMoveTasksResultEntry {
            // Only a running task can be cancelled, and only then AWS tells the handle.
            task_handle: (state == State::Running).then(|| self.handle.clone()),
            source_arn: Some(self.source_arn.clone()),
            destination_arn: self.destination_arn.clone(),
            max_number_of_messages_per_second: self.per_second,
            approximate_number_of_messages_moved: Some(moved),
            approximate_number_of_messages_to_move: Some(self.to_move),
            status: Some(state.name().to_owned()),
            started_timestamp: i64::try_from(self.started_millis).ok(),
            failure_reason: match state {
                State::Failed { reason } => Some(reason),
                _ => None,
            },
        }
    }
}

fn no_such(parameter: &str) -> SqsError {
    SqsError::resource_not_found(format!(
        "The resource that you specified for the {parameter} parameter doesn't exist."
    ))
}
