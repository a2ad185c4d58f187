//! What one event tells one group: the event notification that they share, and each recipient's own notification and sends.

use std::collections::BTreeSet;
use std::time::Duration;

use belfry_aws::Failure;
use domain::notification::{EventNotification, Notification, notification_id};
use domain::recipient::{Channel, Recipient, Skip};
use domain::routing::{Group, Route};
use domain::send::ChannelSend;
use domain::{Event, Timestamp, Trace, UserId};
use texts::{Language, Reader, Texts};

/// An event, rendered for a group.
#[derive(Debug)]
pub struct GroupNotification {
    /// What the group shares.
    pub shared: EventNotification,
    /// The channels to send through.
    pub channels: BTreeSet<Channel>,
    trace: Option<Trace>,
}

impl GroupNotification {
    /// Renders the event in every language; each reader sees their own. The text is shared, so its times are in UTC.
    pub fn new(texts: &Texts, event: &Event, route: &Route, group: &Group) -> Result<Self, Failure> {
        let render = |language: Language| {
            let reader = Reader::new(language, None);
            let text = texts.inbox(&event.event_type, route.audience, &reader, &event.payload);
            let text = text.map_err(|error| Failure::Reject(error.to_string()))?;
            Ok((language.as_str().to_owned(), text))
        };
        let channels = route.channels_for(&event.payload);
        Ok(Self {
            channels: channels.map_err(|error| Failure::Reject(error.to_string()))?,
            trace: event.traceparent.clone(),
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

    /// One recipient's notification.
    pub fn of(&self, user_id: &UserId, now: Timestamp) -> Notification {
        let shared = &self.shared;
        Notification {
            notification_id: notification_id(&shared.event_id, shared.created_at, shared.audience, user_id),
            audience: shared.audience,
            user_id: user_id.clone(),
            event_id: shared.event_id.clone(),
            group: shared.group.clone(),
            created_at: shared.created_at,
            told_at: now,
            shared_read: shared.shared_read,
            read_at: None,
        }
    }

    /// One recipient's sends. A user without a record has an inbox and no address. A channel that is not enabled is skipped.
    pub fn sends(
        &self,
        notification: &Notification,
        recipient: Option<&Recipient>,
        enabled: &BTreeSet<Channel>,
        now: Timestamp,
        grace: Duration,
    ) -> impl Iterator<Item = ChannelSend> {
        let (event_type, trace) = (self.shared.event_type.as_str(), self.trace.as_ref());
        self.channels.iter().map(move |channel| {
            let skip = recipient.map_or(Some(Skip::NoAddress), |recipient| recipient.skip(event_type, *channel));
            let skip = skip.or_else(|| (!enabled.contains(channel)).then_some(Skip::NotSetUp));
            ChannelSend::new((notification, *channel), (event_type, trace), skip, (now, grace))
        })
    }
}
