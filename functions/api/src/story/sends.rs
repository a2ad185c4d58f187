//! The part of a story that happened to its sends: who was notified, what was tried, what providers answered.

use std::collections::BTreeSet;

use domain::dead_letter::dead_send_id;
use domain::routing::Queue;
use domain::send::{ChannelSend, SendState};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Stage;

/// How many sends of each of the table's parts a story shows: an audience of thousands would drown the rest.
pub const SHOWN: u16 = 25;

/// Each notification, and each of its sends.
pub fn stages(sends: &[ChannelSend]) -> Vec<Stage> {
    let mut notified = BTreeSet::new();
    let mut stages = Vec::new();
    for send in sends {
        let id = &send.id;
        if notified.insert(id.notification_id) {
            let more = json!({"notification_id": id.notification_id, "audience": id.audience, "user_id": id.user_id});
            stages.push(Stage::new(send.created_at, "NOTIFICATION", more));
        }
        let attempts = send
            .attempts
            .iter()
            .map(|attempt| Stage::new(attempt.at, "SEND_ATTEMPT", about(send, json!({"outcome": attempt.outcome}))));
        stages.extend(attempts);
        let receipts = send.receipts.iter().map(|receipt| {
            let more = json!({"provider": receipt.provider, "provider_message_id": receipt.message_id});
            Stage::new(receipt.at, "PROVIDER_RECEIPT", about(send, more))
        });
        stages.extend(receipts);
        stages.push(standing(send));
    }
    stages
}

/// The dead letters that these sends may have.
pub fn dead_letters(sends: &[ChannelSend]) -> Vec<Uuid> {
    let given_up = sends.iter().filter(|send| send.state.is_given_up() || send.redrive.is_some());
    given_up.map(|send| dead_send_id(&Queue::Deliver(send.id.channel).consumer(), send.id.notification_id)).collect()
}

/// How a send stands now.
fn standing(send: &ChannelSend) -> Stage {
    let error = json!({"last_error": send.last_error, "attempt_count": send.attempt_count});
    let (at, stage, more) = match &send.state {
        SendState::Pending { next_retry_at } => (None, "SEND_PENDING", json!({"next_retry_at": next_retry_at})),
        SendState::Processing { lease_until, .. } => (None, "SEND_PROCESSING", json!({"lease_until": lease_until})),
        SendState::Uncertain { next_retry_at } => (None, "SEND_UNCERTAIN", json!({"next_retry_at": next_retry_at})),
        SendState::Sent { sent_at } => (Some(*sent_at), "SENT", json!({"attempt_count": send.attempt_count})),
        SendState::Failed { ended_at } => (Some(*ended_at), "SEND_FAILED", error),
        SendState::Skipped { ended_at } => (Some(*ended_at), "SKIPPED", json!({"reason": send.last_error})),
    };
    let last = send.attempts.last().map_or(send.created_at, |attempt| attempt.at);
    Stage::new(at.unwrap_or(last), stage, about(send, more))
}

fn about(send: &ChannelSend, mut more: Value) -> Value {
    more["channel"] = json!(send.id.channel);
    more["notification_id"] = json!(send.id.notification_id);
    more["user_id"] = json!(send.id.user_id);
    more
}
