//! Sends as items of the table `sends`, and its sparse index of sends that have not ended.

use belfry_core::item::{Index, KeyAttribute, expiry, spread, text};
use belfry_core::{AttributeValue, Entity, Item, Key, Table};
use uuid::Uuid;

use super::{ChannelSend, SendId};
use crate::EventId;
use crate::id::compose;
use crate::recipient::Channel;

/// How many partitions the sends of one event, and each part of the index, are spread over.
pub const PARTITIONS: u32 = 8;

/// The index of sends that have not ended, by [`SendDuePartition`] and due time. Sparse.
pub const DUE: Index =
    Index { name: "due", hash: KeyAttribute::text("due"), range: Some(KeyAttribute::text("due_at")) };

/// A part of the index of sends that have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendDuePartition {
    /// PENDING, PROCESSING, or UNCERTAIN and to be sent again; by due time.
    Open,
    /// The same, but enqueued repeatedly without an attempt.
    Stuck,
    /// UNCERTAIN and held for an operator; by the time at which it was written.
    Held,
}

impl SendDuePartition {
    /// The partitions that sweepers read.
    pub const SWEPT: [Self; 2] = [Self::Open, Self::Stuck];

    /// The partition of a send. `None` if the send has ended.
    pub fn of(send: &ChannelSend) -> Option<Self> {
        match (send.state.ended_at(), send.state.is_given_up()) {
            (Some(_), _) => None,
            (None, true) => Some(Self::Held),
            (None, false) if send.is_stuck() => Some(Self::Stuck),
            (None, false) => Some(Self::Open),
        }
    }

    /// The partition keys of the index.
    pub fn all(self) -> impl Iterator<Item = String> {
        (0..PARTITIONS).map(move |partition| self.name(partition))
    }

    fn name(self, partition: u32) -> String {
        let name = match self {
            Self::Open => "OPEN",
            Self::Stuck => "STUCK",
            Self::Held => "HELD",
        };
        compose(&[name, &partition.to_string()])
    }
}

impl SendId {
    /// The key of the send of a notification through a channel. A large audience is spread over partitions.
    pub fn key(event_id: &EventId, notification_id: Uuid, channel: Channel) -> Key {
        let id = notification_id.to_string();
        let partition = spread(&id, PARTITIONS);
        Key::pair(Self::partition(event_id, partition), compose(&[&id, channel.as_str()]))
    }

    /// The partition keys that hold the sends of an event.
    pub fn partitions(event_id: &EventId) -> impl Iterator<Item = String> {
        (0..PARTITIONS).map(move |partition| Self::partition(event_id, partition))
    }

    fn partition(event_id: &EventId, partition: u32) -> String {
        compose(&[event_id.as_str(), &partition.to_string()])
    }
}

impl Entity for ChannelSend {
    const TABLE: Table = Table::new("sends", "event_part").range("send").ttl("expires_at").stream().indexes(&[DUE]);
    const KIND: &'static str = "Send";
    const INDEX_ATTRIBUTES: &'static [&'static str] = &["due", "due_at", "expires_at"];
    type Id<'a> = &'a SendId;

    fn key(id: &SendId) -> Key {
        SendId::key(&id.event_id, id.notification_id, id.channel)
    }

    fn id(&self) -> &SendId {
        &self.id
    }

    fn index_attributes(&self) -> Item {
        let Some(partition) = SendDuePartition::of(self) else { return Item::new() };
        let due_at = match partition {
            SendDuePartition::Open | SendDuePartition::Stuck => self.due_at,
            SendDuePartition::Held => self.created_at,
        };
        let name = partition.name(spread(&self.id.notification_id.to_string(), PARTITIONS));
        [("due".to_owned(), text(name)), ("due_at".to_owned(), text(due_at))].into()
    }
}

impl ChannelSend {
    /// The time to live of a send that has ended and is kept for `retention`.
    pub fn expiry(&self, retention: Option<std::time::Duration>) -> Option<(String, AttributeValue)> {
        self.state.ended_at().and_then(|ended_at| expiry(ended_at, retention))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use belfry_core::commit::Action;
    use belfry_core::item::{text_of, to_item};
    use belfry_core::{Context, Stored};

    use super::*;
    use crate::Timestamp;
    use crate::send::SendState;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::parse("2026-01-01T00:00:00Z").expect("a time").plus(Duration::from_secs(seconds))
    }

    fn send(state: SendState) -> ChannelSend {
        let send = serde_json::json!({
            "event_id": "e", "notification_id": Uuid::nil(), "channel": "EMAIL", "audience": "CUSTOMER", "user_id": "u",
            "group": "user:u", "event_type": "T", "created_at": at(0), "status": "PENDING", "attempt_count": 0,
            "opened_at": at(0), "due_at": at(60),
        });
        ChannelSend { state, ..serde_json::from_value(send).expect("a send") }
    }

    fn written(send: &Stored<ChannelSend>, after: ChannelSend) -> Item {
        let commit = Context::begin().commit().put(&send.becomes(after));
        match &commit.writes()[0].action {
            Action::Put(item) => item.clone(),
            other => panic!("not a put: {other:?}"),
        }
    }

    #[test]
    fn a_send_keeps_attributes_of_a_newer_release_and_loses_its_expiry() {
        let failed = send(SendState::Failed { ended_at: at(1) });
        let mut item = to_item(&failed).expect("an item");
        item.extend([("version".to_owned(), AttributeValue::N("4".to_owned())), ("colour".to_owned(), text("red"))]);
        item.extend(failed.expiry(Some(Duration::from_secs(1))));
        assert!(item.contains_key("expires_at"));
        let stored = Stored::from_item(item).expect("a send");
        let reopened = written(&stored, send(SendState::Pending { next_retry_at: None }));
        assert_eq!((text_of(&reopened, "version"), text_of(&reopened, "colour")), (Some("5"), Some("red")));
        assert!(!reopened.contains_key("expires_at") && !reopened.contains_key("ended_at"));
    }

    #[test]
    fn a_send_is_due_until_it_ends_and_a_held_one_since_it_was_written() {
        let attribute = |state, name| text_of(&send(state).index_attributes(), name).map(str::to_owned);
        let pending = SendState::Pending { next_retry_at: None };
        assert_eq!(attribute(pending.clone(), "due_at"), Some(at(60).to_string()));
        assert!(attribute(pending, "due").is_some_and(|due| due.starts_with("OPEN#")));
        let held = SendState::Uncertain { next_retry_at: None };
        assert_eq!(attribute(held.clone(), "due_at"), Some(at(0).to_string()));
        assert!(attribute(held, "due").is_some_and(|due| due.starts_with("HELD#")));
        assert_eq!(attribute(SendState::Sent { sent_at: at(1) }, "due"), None);
    }
}
