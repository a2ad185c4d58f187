//! A notification as its recipient sees it: in the inbox, and through a live socket.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{EventNotification, HandledBy, Notification, ReadBy};
use crate::recipient::Recipient;
use crate::{EventId, Time};

/// The language of texts that are not there in the reader's own.
const FALLBACK_LOCALE: &str = "en";

/// One notification as its recipient sees it, with the state of the group laid over it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NotificationView {
    /// The recipient's own.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub notification_id: Uuid,
    /// The event.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub event_id: EventId,
    /// Its type.
    pub event_type: String,
    /// One line.
    pub title: String,
    /// The rest.
    pub body: String,
    /// The event's own fields.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub properties: Value,
    /// When the event was recorded.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// The recipient has read it, or somebody has for the group.
    pub is_read: bool,
    /// Who of the group read it first, where reading is shared.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub read_by: Option<ReadBy>,
    /// One person's reading marks it read for the whole group.
    pub shared_read: bool,
    /// It can be acted on.
    pub actionable: bool,
    /// Who acted on it first.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub handled_by: Option<HandledBy>,
}

/// How a reader sees their notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    locale: String,
    read_until: Option<Time>,
}

impl Reading {
    /// As somebody of whom this is known, who has marked everything read up to a moment.
    pub fn of(record: Option<&Recipient>, read_until: Option<Time>) -> Self {
        let locale = record.and_then(|record| record.details.locale.as_ref());
        Self { locale: locale.map_or(FALLBACK_LOCALE, |locale| locale.as_str()).to_owned(), read_until }
    }
}

impl NotificationView {
    /// A recipient's row with what the group shares, in the reader's language where there is a text in it.
    pub fn new(row: Notification, told: EventNotification, reading: &Reading) -> Self {
        let locale = reading.locale.as_str();
        let is_read = row.is_read(&told, reading.read_until);
        let language = locale.split('-').next().unwrap_or_default().to_ascii_lowercase();
        let texts = [locale, &language, FALLBACK_LOCALE].into_iter().find_map(|tag| told.texts.get(tag));
        let text = texts.or_else(|| told.texts.values().next()).cloned();
        let (title, body) = text.map_or_else(Default::default, |text| (text.title, text.body));
        Self {
            notification_id: row.notification_id,
            event_id: row.event_id,
            event_type: told.event_type,
            title,
            body,
            properties: told.properties,
            created_at: row.created_at,
            is_read,
            read_by: told.read_by.filter(|_| told.shared_read),
            shared_read: told.shared_read,
            actionable: told.actionable,
            handled_by: told.handled_by,
        }
    }
}
