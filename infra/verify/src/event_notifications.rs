//! Event notifications: each matches its event's route, was written by a fan-out with a mark, and the reservation that
//! its action decided is decided.

use belfry_core::Stored;
use domain::Time;
use domain::action;
use domain::notification::EventNotification;
use domain::reservation::{Reservation, ReservationStatus};
use domain::routing::{Queue, Routes};
use ledger::survey::{EventRow, Seen, Survey, ToldRow, Whole};
use ledger::{Key, LedgerError};
use uuid::Uuid;

use crate::check::{Beside, Check, Notes};
use crate::finding::Invariant;
use crate::terms::{Terms, is_expiring};

/// An event notification, its event, its mark, and the reservation that its action decided.
#[derive(Debug)]
pub(crate) struct EventNotificationCase {
    row: ToldRow,
    expires_at: Option<Time>,
    event: Beside<EventRow>,
    is_marked: bool,
    decided: Option<(Uuid, Beside<Stored<Reservation>>)>,
}

/// The reservation that its action decided.
fn decided(notification: &EventNotification) -> Option<Uuid> {
    let handled = notification.handled_by.as_ref()?;
    action::decides(notification, handled.action_type).ok().flatten().map(|(reservation_id, _)| reservation_id)
}

fn consumer(notification: &EventNotification) -> String {
    Queue::Fanout(notification.audience).consumer()
}

impl Check for EventNotificationCase {
    type Row = ToldRow;

    fn table(survey: &Survey) -> &Whole<ToldRow> {
        &survey.told
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<ToldRow>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let keys = rows.iter().flat_map(|seen| {
            let notification = &seen.row.shared;
            let reservation = decided(notification).map(|id| survey.reservations.place(id));
            let mark = survey.mark_key(&consumer(notification), &notification.event_id);
            [survey.event_key(&notification.event_id), mark].into_iter().chain(reservation)
        });
        let found = survey.read(keys).await?;
        let case = |Seen { key, row, expires_at }: Seen<ToldRow>| {
            let notification = &row.shared;
            let event = Beside::of(&survey.events, &found, &survey.event_key(&notification.event_id));
            let is_marked = survey.mark(&found, &consumer(notification), &notification.event_id).is_some();
            let decided = decided(notification)
                .map(|id| (id, Beside::of(&survey.reservations, &found, &survey.reservations.place(id))));
            (key, Self { row, expires_at, event, is_marked, decided })
        };
        Ok(rows.into_iter().map(case).collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        if is_expiring(self.expires_at, now) {
            return;
        }
        let notification = &self.row.shared;
        let mut stray = |expected: String, found: &str| notes.broken(Invariant::ToldBelongsToEvent, expected, found);
        match &self.event {
            Beside::Absent if terms.keeps_event(notification.created_at, now) => {
                stray(format!("event {}", notification.event_id), "none");
            }
            Beside::Row(EventRow { event: Ok(event), .. }) if terms.is_routed(event.recorded_at) => {
                let route =
                    Routes::load().ok().and_then(|routes| routes.route(&event.event_type, notification.audience));
                let group = route.and_then(|route| route.group(&event.payload).ok().flatten());
                let expected = group.map_or_else(|| "nobody".to_owned(), |group| group.name());
                if expected != notification.group {
                    stray(
                        format!("{} of {} notified of {}", expected, notification.audience, event.event_type),
                        &notification.group,
                    );
                }
            }
            Beside::Absent | Beside::Unreadable | Beside::Row(_) => {}
        }
        if !self.row.has_cursor && !self.is_marked && terms.keeps_mark(notification.created_at, now) {
            stray(format!("a mark of {}, as the fan-out is complete", consumer(notification)), "none");
        }
        if self.row.has_cursor && self.expires_at.is_some() {
            notes.broken(Invariant::OpenNeverExpires, "no expiry before the fan-out is complete", "an expiry");
        }
        if let Some((id, reservation)) = &self.decided {
            let found = match reservation {
                Beside::Absent => "none",
                Beside::Row(reservation) if reservation.status == ReservationStatus::Requested => "REQUESTED",
                Beside::Row(_) | Beside::Unreadable => return,
            };
            notes.broken(Invariant::ActionDecides, format!("reservation {id} decided by its action"), found);
        }
    }
}
