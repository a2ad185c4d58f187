//! Notifications: one per event, recipient and type, with one send for each channel of the route.

use std::collections::BTreeSet;

use domain::notification::{Notification, notification_id};
use domain::recipient::Channel;
use domain::routing::Routes;
use domain::send::SendId;
use domain::{Event, Time};
use ledger::survey::{EventRow, Seen, Survey, Whole};
use ledger::{Key, LedgerError};

use crate::check::{Beside, Check, Notes};
use crate::finding::Invariant;
use crate::terms::{Terms, is_expiring};

/// A notification, its event, and the channels of its sends.
#[derive(Debug)]
pub(crate) struct NotificationCase {
    row: Notification,
    expires_at: Option<Time>,
    is_told: bool,
    event: Beside<EventRow>,
    channels: BTreeSet<Channel>,
}

fn send_key(survey: &Survey, notification: &Notification, channel: Channel) -> Key {
    survey.send_key(&SendId::of(notification, channel))
}

fn told_key(survey: &Survey, notification: &Notification) -> Key {
    survey.told_key(&notification.event_id, notification.audience, &notification.group)
}

impl Check for NotificationCase {
    type Row = Notification;

    fn table(survey: &Survey) -> &Whole<Notification> {
        &survey.notifications
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Notification>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let keys = rows.iter().flat_map(|seen| {
            let sends = Channel::SENT.map(|channel| send_key(survey, &seen.row, channel));
            [survey.event_key(&seen.row.event_id), told_key(survey, &seen.row)].into_iter().chain(sends)
        });
        let found = survey.read(keys).await?;
        let case = |Seen { key, row, expires_at }: Seen<Notification>| {
            let is_sent = |channel: &Channel| found.get(&send_key(survey, &row, *channel)).is_some();
            let channels = Channel::SENT.into_iter().filter(is_sent).collect();
            let is_told = found.get(&told_key(survey, &row)).is_some();
            let event = Beside::of(&survey.events, &found, &survey.event_key(&row.event_id));
            (key, Self { row, expires_at, is_told, event, channels })
        };
        Ok(rows.into_iter().map(case).collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        if is_expiring(self.expires_at, now) {
            return;
        }
        let row = &self.row;
        let derived = notification_id(&row.event_id, row.created_at, row.audience, &row.user_id);
        if derived != row.notification_id {
            let expected = format!("notification {derived} of event {}, this recipient and type", row.event_id);
            notes.broken(Invariant::NotificationIsUnique, expected, "a different id");
        }
        if !self.is_told {
            let expected = format!("an event notification of event {} for {}", row.event_id, row.group);
            notes.broken(Invariant::NotificationBelongsToEvent, expected, "none");
        }
        match &self.event {
            Beside::Absent if terms.keeps_event(row.created_at, now) => {
                notes.broken(Invariant::NotificationBelongsToEvent, format!("event {}", row.event_id), "none");
            }
            Beside::Row(EventRow { event: Ok(event), .. }) if terms.is_routed(event.recorded_at) => {
                self.check_sends(event, notes);
            }
            Beside::Absent | Beside::Unreadable | Beside::Row(_) => {}
        }
    }
}

impl NotificationCase {
    fn check_sends(&self, event: &Event, notes: &mut Notes) {
        let route = Routes::load().ok().and_then(|routes| routes.route(&event.event_type, self.row.audience));
        let Some(route) = route else { return };
        let Ok(expected) = route.channels_for(&event.payload) else { return };
        if expected != self.channels {
            let names = |channels: &BTreeSet<Channel>| {
                let names: Vec<&str> = channels.iter().map(|channel| channel.as_str()).collect();
                if names.is_empty() { "no channel".to_owned() } else { names.join(", ") }
            };
            let expected = format!("one send through each of {}", names(&expected));
            notes.broken(Invariant::SendsAreTheRoutes, expected, format!("through {}", names(&self.channels)));
        }
    }
}
