//! What one event tells one group: the event notification that they share, each one's own row and sends.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::notification::{EventNotification, Notification, notification_id};
use domain::recipient::{Channel, Recipient, Skip};
use domain::routing::{Group, Route};
use domain::send::ChannelSend;
use domain::{Event, Time, Trace, UserId};
use messaging::Failure;
use texts::{Language, Reader, Texts};

/// What is told.
#[derive(Debug)]
pub struct Told {
    /// What the group shares.
    pub shared: EventNotification,
    /// The channels to send through.
    pub channels: BTreeSet<Channel>,
    trace: Option<Trace>,
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
            told_at: Time::now(),
            shared_read: shared.shared_read,
            read_at: None,
        }
    }

    /// One recipient's sends. Somebody of whom nothing is known has an inbox and no address; what goes through a channel
    /// that is not `set_up` is skipped.
    pub fn sends(
        &self,
        notification: &Notification,
        recipient: Option<&Recipient>,
        set_up: &BTreeSet<Channel>,
        times: (Time, Duration),
    ) -> impl Iterator<Item = ChannelSend> {
        let about = (self.shared.event_type.as_str(), self.trace.as_ref());
        self.channels.iter().map(move |channel| {
            let skip = recipient.map_or(Some(Skip::NoAddress), |recipient| recipient.skip(about.0, *channel));
            let skip = skip.or_else(|| (!set_up.contains(channel)).then_some(Skip::NotSetUp));
            ChannelSend::new((notification, *channel), about, skip, times)
        })
    }
}
