//! What one event tells one group: the event notification that they share, and each one's own row.

use domain::notification::{EventNotification, Notification, notification_id};
use domain::routing::{Group, Route};
use domain::{Event, UserId};
use messaging::Failure;
use texts::{Language, Reader, Texts};

/// What is told.
#[derive(Debug)]
pub struct Told {
    /// What the group shares.
    pub shared: EventNotification,
}

impl Told {
    /// Renders the event for the group, in every language: each reader sees their own. A text that all share names its
    /// times in UTC.
    pub fn new(texts: &Texts, event: &Event, route: &Route, group: &Group) -> Result<Self, Failure> {
        let render = |language: Language| {
            let reader = Reader::new(language, None);
            let text = texts.inbox(&event.event_type, route.audience, &reader, &event.payload);
            let text = text.map_err(|error| Failure::Reject(error.to_string()))?;
            Ok((language.as_str().to_owned(), text))
        };
        Ok(Self {
            shared: EventNotification {
                event_id: event.event_id.clone(),
                event_type: event.event_type.clone(),
                audience: route.audience,
                group: group.name(),
                texts: Language::ALL.into_iter().map(render).collect::<Result<_, Failure>>()?,
                properties: event.payload.clone(),
                shared_read: route.shared_read,
                actionable: route.actionable,
                created_at: event.recorded_at,
                read_by: None,
                handled_by: None,
            },
        })
    }

    /// One recipient's row.
    pub fn to(&self, user_id: &UserId) -> Notification {
        let shared = &self.shared;
        Notification {
            notification_id: notification_id(&shared.event_id, shared.created_at, shared.audience, user_id),
            audience: shared.audience,
            user_id: user_id.clone(),
            event_id: shared.event_id.clone(),
            group: shared.group.clone(),
            created_at: shared.created_at,
            read_at: None,
        }
    }
}
