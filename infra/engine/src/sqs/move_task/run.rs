//! The work of one move task.

use std::sync::Arc;
use std::time::Duration;

use rustack_sqs_model::error::SqsError;
use rustack_sqs_model::input::{
    ChangeMessageVisibilityInput, DeleteMessageInput, ReceiveMessageInput, SendMessageInput,
};
use rustack_sqs_model::types::Message;
use tokio::time::{self, Interval, MissedTickBehavior};

use super::{State, Task};
use crate::sqs::Queues;

/// Moves messages until there are no more, the task is cancelled, or one cannot be moved.
pub(super) async fn to_its_end(task: Arc<Task>, queues: Queues) {
    let mut pace = task.per_second.and_then(|rate| u32::try_from(rate).ok()).map(every_second);
    let state = loop {
        wait_for_its_turn(&task, pace.as_mut()).await;
        if task.progress.borrow().state == State::Cancelling {
            break State::Cancelled;
        }
        match next(&task, &queues).await {
            Ok(Some(message)) => {
                if let Err(reason) = move_one(&task, &queues, message).await {
                    break State::Failed { reason };
                }
                task.progress.send_modify(|progress| progress.moved += 1);
            }
            Ok(None) => break State::Completed,
            Err(error) => break State::Failed { reason: error.code.error_type().to_owned() },
        }
    };
    task.progress.send_modify(|progress| progress.state = state);
}

fn every_second(rate: u32) -> Interval {
    let mut pace = time::interval(Duration::from_secs(1) / rate.max(1));
    // After a stall it goes on at its pace, and does not make up for what it missed.
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

/// Returns early when the task is cancelled: at one message a second nobody should wait for it.
async fn wait_for_its_turn(task: &Task, pace: Option<&mut Interval>) {
    let Some(pace) = pace else { return };
    let mut changes = task.progress.subscribe();
    tokio::select! {
        _ = pace.tick() => {}
        _ = changes.wait_for(|progress| progress.state == State::Cancelling) => {}
    }
}

/// One at a time, so that a task that is cancelled holds no message back.
async fn next(task: &Task, queues: &Queues) -> Result<Option<Message>, SqsError> {
    let everything = vec!["All".to_owned()];
    let ask = ReceiveMessageInput {
        queue_url: task.source_url.clone(),
        max_number_of_messages: Some(1),
        wait_time_seconds: Some(0),
        message_system_attribute_names: everything.clone(),
        message_attribute_names: everything,
        ..ReceiveMessageInput::default()
    };
    Ok(queues.receive(ask).await?.messages.pop())
}

async fn move_one(task: &Task, queues: &Queues, message: Message) -> Result<(), String> {
    let receipt_handle = message.receipt_handle.clone().unwrap_or_default();
    let Err(reason) = send(task, queues, message).await else {
        let gone = DeleteMessageInput { queue_url: task.source_url.clone(), receipt_handle };
        return queues.rustack.delete_message(gone).await.map(drop).map_err(code_of);
    };
    // It stays a dead letter, and can be seen at once.
    let back =
        ChangeMessageVisibilityInput { queue_url: task.source_url.clone(), receipt_handle, visibility_timeout: 0 };
    if let Err(error) = queues.rustack.change_message_visibility(back).await {
        tracing::debug!(%error, "a dead letter that could not be moved stays hidden for a while");
    }
    Err(reason)
}

/// To the queue that the task names, or else to the one that gave the message up; a message that was sent to the
/// dead-letter queue directly came from nowhere.
async fn send(task: &Task, queues: &Queues, mut message: Message) -> Result<(), String> {
    let came_from = message.attributes.get("DeadLetterQueueSourceArn");
    let destination = task.destination_arn.as_ref().or(came_from).ok_or("CouldNotDetermineMessageSource")?;
    let queue_url = queues.rustack.queue_url_for_arn(destination).map_err(code_of)?;
    let again = SendMessageInput {
        queue_url,
        message_body: message.body.unwrap_or_default(),
        message_attributes: message.message_attributes,
        message_group_id: message.attributes.remove("MessageGroupId"),
        message_deduplication_id: message.attributes.remove("MessageDeduplicationId"),
        ..SendMessageInput::default()
    };
    queues.rustack.send_message(again).await.map(drop).map_err(code_of)
}

fn code_of(error: SqsError) -> String {
    error.code.error_type().to_owned()
}
