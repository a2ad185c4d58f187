//! What each subscribed consumer made of an event: a mark with its effect, or a dead letter.

use domain::dead_letter::{DeadLetter, dead_letter_id};
use domain::notification::notification_id;
use domain::routing::{Group, Queue, Routes};
use domain::{Event, Time};
use ledger::processed::Mark;
use ledger::survey::{Survey, ToldRow};
use ledger::{Found, Key};

use crate::check::{Beside, Notes};
use crate::finding::Invariant;
use crate::terms::Terms;

/// What a subscribed consumer made of an event.
#[derive(Debug)]
pub(crate) struct Consumed {
    consumer: String,
    mark: Option<Result<Mark, ()>>,
    letter: Beside<DeadLetter>,
    told: Option<Told>,
}

/// What a fan-out has told.
#[derive(Debug)]
struct Told {
    group: String,
    shared: Beside<ToldRow>,
    /// The notification of a group of one: whether it is there.
    notified: Option<bool>,
}

/// The group that a fan-out tells, and the places of what it writes: the shared part, and a group of one's notification.
fn told(survey: &Survey, event: &Event, queue: Queue) -> Option<(String, Key, Option<Key>)> {
    let audience = queue.audience()?;
    let route = Routes::load().ok()?.route(&event.event_type, audience)?;
    let group = route.group(&event.payload).ok()??;
    let notification = match &group {
        Group::User(user_id) => {
            let id = notification_id(&event.event_id, event.recorded_at, audience, user_id);
            Some(survey.notification_key(audience, user_id, id))
        }
        Group::Restaurant(_) | Group::Agency(_) | Group::All => None,
    };
    Some((group.name(), survey.told_key(&event.event_id, audience, &group.name()), notification))
}

/// The queues that get an event.
pub(crate) fn subscribed(event: &Event) -> Vec<Queue> {
    Routes::load().map(|routes| routes.queues(&event.event_type, &event.payload).collect()).unwrap_or_default()
}

impl Consumed {
    /// The places of all that it is judged by.
    pub fn keys(survey: &Survey, event: &Event, queue: Queue) -> Vec<Key> {
        let consumer = queue.consumer();
        let letter = survey.dead_letters.key(&dead_letter_id(&consumer, &event.event_id));
        let mut keys = vec![survey.mark_key(&consumer, &event.event_id), letter];
        if let Some((_, shared, notification)) = told(survey, event, queue) {
            keys.push(shared);
            keys.extend(notification);
        }
        keys
    }

    /// What stands there.
    pub fn read(survey: &Survey, event: &Event, queue: Queue, found: &Found) -> Self {
        let consumer = queue.consumer();
        let letter = survey.dead_letters.key(&dead_letter_id(&consumer, &event.event_id));
        Self {
            mark: survey.mark(found, &consumer, &event.event_id).map(|mark| mark.map_err(drop)),
            letter: Beside::of(&survey.dead_letters, found, &letter),
            told: told(survey, event, queue).map(|(group, shared, notification)| Told {
                group,
                shared: Beside::of(&survey.told, found, &shared),
                notified: notification.map(|key| found.get(&key).is_some()),
            }),
            consumer,
        }
    }
}

impl Consumed {
    /// Judges.
    pub fn check(&self, (recorded_at, published_at): (Time, Time), terms: &Terms, now: Time, notes: &mut Notes) {
        match &self.mark {
            None if !self.letter.is_absent() => {}
            // A mark, and a dead letter that was discarded, are kept for a while only.
            None if !terms.keeps_mark(recorded_at, now) || !terms.keeps_letter(recorded_at, now) => {}
            None if !terms.is_overdue(published_at, now) => notes.under_way += 1,
            None => {
                let expected = format!("a mark or a dead letter of {}", self.consumer);
                let found = format!("neither, published at {published_at}");
                notes.broken(Invariant::EventReachesConsumers, expected, found);
            }
            Some(Ok(mark)) if terms.keeps_told(mark.processed_at, now) => self.check_told(notes),
            Some(_) => {}
        }
    }

    fn check_told(&self, notes: &mut Notes) {
        let Some(told) = &self.told else { return };
        let Self { consumer, .. } = self;
        let group = &told.group;
        match &told.shared {
            Beside::Absent => {
                let expected = format!("an event notification for {group}, as {consumer} has a mark");
                notes.broken(Invariant::MarkedIsTold, expected, "none");
            }
            Beside::Row(shared) if shared.has_cursor => {
                let expected = format!("everybody of {group} told, as {consumer} has a mark");
                notes.broken(Invariant::MarkedIsTold, expected, "a cursor that is not at its end");
            }
            Beside::Row(_) | Beside::Unreadable => {}
        }
        if told.notified == Some(false) {
            let expected = format!("a notification for {group}, as {consumer} has a mark");
            notes.broken(Invariant::MarkedIsTold, expected, "none");
        }
    }
}
