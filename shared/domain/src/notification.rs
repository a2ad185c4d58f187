//! What is told: an event notification for a group, a notification for each of its recipients.

mod view;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::action::ActionType;
use crate::recipient::Recipient;
use crate::routing::Group;
use crate::{Audience, EventId, Time, UserId};

pub use view::{NotificationView, Reading};

/// What one event tells one audience group, and the state that the group shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventNotification {
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: String,
    /// The audience.
    pub audience: Audience,
    /// The group within the audience: a restaurant, an agency, one customer, all admins.
    pub group: String,
    /// What is shown, by locale.
    pub texts: BTreeMap<String, Text>,
    /// The event's own fields, for clients that render for themselves.
    #[serde(with = "json_text")]
    pub properties: Value,
    /// One person's reading marks it read for the whole group.
    pub shared_read: bool,
    /// It can be acted on.
    pub actionable: bool,
    /// When the event was recorded.
    pub created_at: Time,
    /// Who of the group read it first, where reading is shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_by: Option<ReadBy>,
    /// Who acted on it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled_by: Option<HandledBy>,
}

/// The text of an event notification in one locale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// One line.
    pub title: String,
    /// The rest.
    pub body: String,
}

/// Who read a notification, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBy {
    /// The reader.
    pub user_id: UserId,
    /// The reader's name at that time.
    pub name: String,
    /// When.
    pub at: Time,
}

/// Who acted on a notification, how, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandledBy {
    /// The actor.
    pub user_id: UserId,
    /// The actor's name at that time.
    pub name: String,
    /// What the actor did.
    pub action_type: ActionType,
    /// When.
    pub at: Time,
}

/// One event notification for one recipient.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// Derived from event and recipient, see [`notification_id`].
    pub notification_id: Uuid,
    /// The recipient's audience, which is the notification's type.
    pub audience: Audience,
    /// The recipient.
    pub user_id: UserId,
    /// The event.
    pub event_id: EventId,
    /// The group whose event notification it shows.
    pub group: String,
    /// When the event was recorded; the id is derived from it.
    pub created_at: Time,
    /// When this recipient was told, which may be much later: the moment in which the row was stored.
    pub told_at: Time,
    /// One person's reading marks it read for the whole group.
    #[serde(default)]
    pub shared_read: bool,
    /// When this recipient read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Time>,
}

/// JSON as text, because nothing queries inside it and text keeps it exact.
mod json_text {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&serde_json::to_string(value).map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        let text = String::deserialize(deserializer)?;
        // Says which kind of error but not its text, which may quote the value.
        let unreadable =
            |error: serde_json::Error| D::Error::custom(format!("{:?} error in JSON text", error.classify()));
        serde_json::from_str(&text).map_err(unreadable)
    }
}

impl EventNotification {
    /// Whether this user belongs to the group by what their record says now. They may have left it since they were told;
    /// then its state is not theirs to change.
    pub fn is_of_group(&self, user_id: &UserId, record: Option<&Recipient>) -> bool {
        let own = Group::User(user_id.clone());
        let theirs = record.and_then(Recipient::group);
        std::iter::once(own).chain(theirs).any(|group| group.name() == self.group)
    }
}

impl EventNotification {
    /// The same after somebody has read it: where reading is shared, the first reader is kept.
    #[must_use]
    pub fn read(&self, reader: ReadBy) -> Self {
        let first = self.read_by.clone().or(self.shared_read.then_some(reader));
        Self { read_by: first, ..self.clone() }
    }
}

impl Notification {
    /// The same after its recipient has read it: the first time is kept.
    #[must_use]
    pub fn read(&self, at: Time) -> Self {
        Self { read_at: self.read_at.or(Some(at)), ..self.clone() }
    }

    /// Whether there is nothing left to read for its recipient: they read it, somebody of the group read it for all, or
    /// they were told at or before the moment up to which they have marked everything read.
    pub fn is_read(&self, told: &EventNotification, read_until: Option<Time>) -> bool {
        self.read_at.is_some()
            || told.shared_read && told.read_by.is_some()
            || read_until.is_some_and(|until| self.told_at <= until)
    }
}

/// The id of the notification of one event for one recipient.
///
/// It has the layout of a UUID v7: the event's recorded time, then bits of a hash of event and recipient. So the
/// same event and recipient always give the same id, which is what makes a repeated fan-out write nothing, and
/// ids sort by time, which is what makes the inbox one query.
pub fn notification_id(event_id: &EventId, recorded_at: Time, audience: Audience, user_id: &UserId) -> Uuid {
    let mut hash = Sha256::new();
    for part in [event_id.as_str(), audience.as_str(), user_id.as_str()] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let mut bits = [0_u8; 10];
    bits.copy_from_slice(&digest[..10]);
    let millis = u64::try_from(recorded_at.as_millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &bits).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(event: &str, at: &str, user: &str) -> Uuid {
        notification_id(
            &EventId::parse(event).expect("an event id"),
            Time::parse(at).expect("a time"),
            Audience::Customer,
            &UserId::parse(user).expect("a user id"),
        )
    }

    #[test]
    fn the_same_event_and_recipient_always_give_the_same_id() {
        assert_eq!(id("e", "2026-01-01T00:00:00Z", "u"), id("e", "2026-01-01T00:00:00Z", "u"));
        assert_ne!(id("e", "2026-01-01T00:00:00Z", "u"), id("e", "2026-01-01T00:00:00Z", "v"));
        assert_ne!(id("e", "2026-01-01T00:00:00Z", "u"), id("f", "2026-01-01T00:00:00Z", "u"));
    }

    #[test]
    fn ids_sort_by_the_time_the_event_was_recorded() {
        assert!(id("z", "2026-01-01T00:00:00.001Z", "u") < id("a", "2026-01-01T00:00:00.002Z", "u"));
    }
}
