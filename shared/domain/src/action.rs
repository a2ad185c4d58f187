//! Actions: what somebody of a group does on a notification for all of them. The first one counts.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::compose;
use crate::notification::{EventNotification, HandledBy};
use crate::reservation::{self, ReservationChanged, Step};
use crate::{Audience, Event, EventId, Fresh, Time, UserId};

/// The event type of an action.
pub const ACTED: &str = "NotificationActed";

/// What can be done on a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionType {
    /// Yes. It accepts what was requested.
    Confirmed,
    /// No. It rejects what was requested.
    Rejected,
    /// Later.
    Postponed,
    /// Not at all.
    Dismissed,
    /// Something else, which the note may say.
    Custom,
}

impl ActionType {
    /// The name as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "CONFIRMED",
            Self::Rejected => "REJECTED",
            Self::Postponed => "POSTPONED",
            Self::Dismissed => "DISMISSED",
            Self::Custom => "CUSTOM",
        }
    }

    /// The step that it takes on a reservation that it is done on, if it takes one.
    pub fn step(self) -> Option<Step> {
        match self {
            Self::Confirmed => Some(Step::Accept),
            Self::Rejected => Some(Step::Reject),
            Self::Postponed | Self::Dismissed | Self::Custom => None,
        }
    }
}

/// The body of `POST /v1/notifications/{id}/actions`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// What is done.
    pub action_type: ActionType,
    /// What there is to say about it.
    #[serde(default)]
    pub note: Option<Note>,
}

/// What an actor has to say: 1 to 1000 characters, on as many lines as it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minLength" = 1, "maxLength" = Note::LONGEST)))]
#[serde(into = "String", try_from = "String")]
pub struct Note(String);

/// The text cannot be a note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 1000 characters, none of them a control")]
pub struct NotANote;

impl Note {
    /// The most characters that a note may have.
    pub const LONGEST: usize = 1000;
}

impl From<Note> for String {
    fn from(note: Note) -> Self {
        note.0
    }
}

impl TryFrom<String> for Note {
    type Error = NotANote;

    fn try_from(text: String) -> Result<Self, NotANote> {
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        let fits = (1..=Self::LONGEST).contains(&text.chars().count());
        if fits && !text.trim().is_empty() && !text.chars().any(control) { Ok(Self(text)) } else { Err(NotANote) }
    }
}

/// Why a notification cannot be acted on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActionRefused {
    /// There is nothing to do about it.
    #[error("it cannot be acted on")]
    NotActionable,
    /// Somebody was first.
    #[error("handled by {}: {} at {}", .0.name, .0.action_type.as_str(), .0.at)]
    AlreadyHandled(HandledBy),
}

/// The event notification after somebody has handled it, if nobody has before.
pub fn handled(told: &EventNotification, by: HandledBy) -> Result<EventNotification, ActionRefused> {
    match &told.handled_by {
        _ if !told.actionable => Err(ActionRefused::NotActionable),
        Some(first) => Err(ActionRefused::AlreadyHandled(first.clone())),
        None => Ok(EventNotification { handled_by: Some(by), ..told.clone() }),
    }
}

/// The reservation that an action decides, and how; most actions decide none. What a request was for never changes, so
/// this can be asked of an event notification of any moment.
pub fn decides(told: &EventNotification, action: ActionType) -> Result<Option<(Uuid, Step)>, serde_json::Error> {
    let Some(step) = action.step().filter(|_| told.event_type == reservation::REQUESTED) else { return Ok(None) };
    let requested: ReservationChanged = serde_json::from_value(told.properties.clone())?;
    Ok(Some((requested.reservation_id, step)))
}

/// The payload of `NotificationActed`: somebody acted on what their group was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotificationActed {
    /// The event's id, repeated so that the payload can be read alone.
    pub event_id: String,
    /// `NotificationActed`.
    pub event_type: String,
    /// When it was acted on.
    pub occurred_at: Time,
    /// The actor's own notification.
    pub notification_id: Uuid,
    /// The event that the notification tells of.
    pub acted_on_event_id: EventId,
    /// The actor's audience.
    pub audience: Audience,
    /// The group that it is handled for.
    pub group: String,
    /// The actor.
    pub user_id: UserId,
    /// What the actor did.
    pub action_type: ActionType,
    /// What the actor had to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

impl NotificationActed {
    /// The kind under which the history of event notifications is kept.
    pub const AGGREGATE: &'static str = "EventNotification";

    /// The event that reports that `by` acted on what the group was told, through a notification of their own.
    pub fn event(
        told: &EventNotification,
        notification_id: Uuid,
        by: &UserId,
        action: &Action,
        fresh: &Fresh,
    ) -> Result<Event, serde_json::Error> {
        let payload = Self {
            event_id: fresh.event_id.to_string(),
            event_type: ACTED.to_owned(),
            occurred_at: fresh.now,
            notification_id,
            acted_on_event_id: told.event_id.clone(),
            audience: told.audience,
            group: told.group.clone(),
            user_id: by.clone(),
            action_type: action.action_type,
            note: action.note.clone(),
        };
        Ok(Event {
            event_id: fresh.event_id.into(),
            event_type: ACTED.to_owned(),
            aggregate_type: Self::AGGREGATE.to_owned(),
            aggregate_id: compose(&[told.event_id.as_str(), told.audience.as_str(), &told.group]),
            version: None,
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor: Some(by.to_string()),
            traceparent: None,
            payload: serde_json::to_value(payload)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(event_type: &str, actionable: bool, properties: Value) -> EventNotification {
        EventNotification {
            event_id: EventId::parse("e").expect("an id"),
            event_type: event_type.to_owned(),
            audience: Audience::RestaurantUser,
            group: "restaurant:r".to_owned(),
            texts: std::collections::BTreeMap::new(),
            properties,
            shared_read: true,
            actionable,
            created_at: at("12:00"),
            read_by: None,
            handled_by: None,
        }
    }

    fn at(clock: &str) -> Time {
        Time::parse(&format!("2026-01-01T{clock}:00Z")).expect("a time")
    }

    fn by(name: &str, clock: &str) -> HandledBy {
        let user_id = UserId::parse(name.to_lowercase()).expect("an id");
        HandledBy { user_id, name: name.to_owned(), action_type: ActionType::Confirmed, at: at(clock) }
    }

    fn request() -> Value {
        json!({
            "event_id": "e", "event_type": reservation::REQUESTED, "occurred_at": at("12:00"),
            "reservation_id": Uuid::nil(), "customer_id": "ugo", "restaurant_id": "r", "party_size": 2,
            "slot_time": at("20:00"), "status": "REQUESTED", "version": 1,
        })
    }

    #[test]
    fn the_first_to_act_is_kept_and_named_to_whoever_comes_second() {
        let handled_once = handled(&told("T", true, json!({})), by("Rosa", "12:01")).expect("handled");
        assert_eq!(handled_once.handled_by, Some(by("Rosa", "12:01")));
        let refused = handled(&handled_once, by("Remo", "12:02")).expect_err("somebody was first");
        assert_eq!(refused.to_string(), "handled by Rosa: CONFIRMED at 2026-01-01T12:01:00.000Z");
    }

    #[test]
    fn what_cannot_be_acted_on_is_handled_by_nobody() {
        assert_eq!(handled(&told("T", false, json!({})), by("Rosa", "12:01")), Err(ActionRefused::NotActionable));
    }

    #[test]
    fn yes_and_no_decide_what_was_requested_and_nothing_else_does() {
        let requested = told(reservation::REQUESTED, true, request());
        let decided = |action| decides(&requested, action).expect("a reservation");
        assert_eq!(decided(ActionType::Confirmed), Some((Uuid::nil(), Step::Accept)));
        assert_eq!(decided(ActionType::Rejected), Some((Uuid::nil(), Step::Reject)));
        for action in [ActionType::Postponed, ActionType::Dismissed, ActionType::Custom] {
            assert_eq!(decided(action), None, "{action:?}");
        }
        let other = told("Announcement", true, request());
        assert_eq!(decides(&other, ActionType::Confirmed).expect("nothing"), None);
        assert!(decides(&told(reservation::REQUESTED, true, json!({})), ActionType::Confirmed).is_err());
    }

    #[test]
    fn a_note_has_bounds_and_lines_but_nothing_invisible() {
        for good in ["a", "two\nlines", &"ü".repeat(1000)] {
            assert!(Note::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", " \n", "bell\u{7}", &"x".repeat(1001)] {
            assert!(Note::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
    }
}
