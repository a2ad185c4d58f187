//! Event notifications: each is what its event's route tells, was told by a marked fan-out, and what was done on it counts.

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
use crate::terms::{Terms, is_going};

/// An event notification, its event, its mark, and what it decided.
#[derive(Debug)]
pub(crate) struct ToldCase {
    row: ToldRow,
    expires_at: Option<Time>,
    event: Beside<EventRow>,
    is_marked: bool,
    decided: Option<(Uuid, Beside<Stored<Reservation>>)>,
}

/// The reservation that an action on it has decided.
fn decided(told: &EventNotification) -> Option<Uuid> {
    let handled = told.handled_by.as_ref()?;
    action::decides(told, handled.action_type).ok().flatten().map(|(reservation_id, _)| reservation_id)
}

fn consumer(told: &EventNotification) -> String {
    Queue::Fanout(told.audience).consumer()
}

impl Check for ToldCase {
    type Row = ToldRow;

    fn table(survey: &Survey) -> &Whole<ToldRow> {
        &survey.told
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<ToldRow>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let keys = rows.iter().flat_map(|seen| {
            let told = &seen.row.shared;
            let reservation = decided(told).map(|id| survey.reservations.place(id));
            let mark = survey.mark_key(&consumer(told), &told.event_id);
            [survey.event_key(&told.event_id), mark].into_iter().chain(reservation)
        });
        let found = survey.read(keys).await?;
        let case = |Seen { key, row, expires_at }: Seen<ToldRow>| {
            let told = &row.shared;
            let event = Beside::of(&survey.events, &found, &survey.event_key(&told.event_id));
            let is_marked = survey.mark(&found, &consumer(told), &told.event_id).is_some();
            let decided =
                decided(told).map(|id| (id, Beside::of(&survey.reservations, &found, &survey.reservations.place(id))));
            (key, Self { row, expires_at, event, is_marked, decided })
        };
        Ok(rows.into_iter().map(case).collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        if is_going(self.expires_at, now) {
            return;
        }
        let told = &self.row.shared;
        let mut stray = |expected: String, found: &str| notes.broken(Invariant::ToldBelongsToEvent, expected, found);
        match &self.event {
            Beside::Absent if terms.keeps_event(told.created_at, now) => {
                stray(format!("event {}", told.event_id), "none");
            }
            Beside::Row(EventRow { event: Ok(event), .. }) if terms.is_routed(event.recorded_at) => {
                let route = Routes::load().ok().and_then(|routes| routes.route(&event.event_type, told.audience));
                let group = route.and_then(|route| route.group(&event.payload).ok().flatten());
                let expected = group.map_or_else(|| "nobody".to_owned(), |group| group.name());
                if expected != told.group {
                    stray(format!("{expected} of {} told of {}", told.audience, event.event_type), &told.group);
                }
            }
            Beside::Absent | Beside::Unreadable | Beside::Row(_) => {}
        }
        if !self.row.has_cursor && !self.is_marked && terms.keeps_mark(told.created_at, now) {
            stray(format!("a mark of {}, as everybody is told", consumer(told)), "none");
        }
        if self.row.has_cursor && self.expires_at.is_some() {
            notes.broken(Invariant::OpenNeverExpires, "no expiry before everybody is told", "a cursor");
        }
        if let Some((id, reservation)) = &self.decided {
            let found = match reservation {
                Beside::Absent => "none",
                Beside::Row(reservation) if reservation.status == ReservationStatus::Requested => "it still REQUESTED",
                Beside::Row(_) | Beside::Unreadable => return,
            };
            notes.broken(Invariant::ActionDecides, format!("reservation {id} decided, as it was acted on"), found);
        }
    }
}
