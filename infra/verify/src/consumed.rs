//! What each subscribed consumer did with an event: a mark with its effect, or a dead letter.

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

/// What a subscribed consumer did with an event.
#[derive(Debug)]
pub(crate) struct Consumed {
    consumer: String,
    mark: Option<Result<Mark, ()>>,
    letter: Beside<DeadLetter>,
    fan_out: Option<FanOut>,
}

/// What a fan-out has written.
#[derive(Debug)]
struct FanOut {
    group: String,
    shared: Beside<ToldRow>,
    /// Whether the notification of a single recipient exists.
    notified: Option<bool>,
}

/// The group that a fan-out notifies, and the keys of what it writes: the event notification, and the notification of a
/// single recipient.
fn fan_out(survey: &Survey, event: &Event, queue: Queue) -> Option<(String, Key, Option<Key>)> {
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

/// The queues that receive an event.
pub(crate) fn subscribed(event: &Event) -> Vec<Queue> {
    Routes::load().map(|routes| routes.queues(&event.event_type, &event.payload).collect()).unwrap_or_default()
}

impl Consumed {
    /// The keys of the related rows.
    pub fn keys(survey: &Survey, event: &Event, queue: Queue) -> Vec<Key> {
        let consumer = queue.consumer();
        let letter = survey.dead_letters.key(&dead_letter_id(&consumer, &event.event_id));
        let mut keys = vec![survey.mark_key(&consumer, &event.event_id), letter];
        if let Some((_, shared, notification)) = fan_out(survey, event, queue) {
            keys.push(shared);
            keys.extend(notification);
        }
        keys
    }

    /// Reads the related rows.
    pub fn read(survey: &Survey, event: &Event, queue: Queue, found: &Found) -> Self {
        let consumer = queue.consumer();
        let letter = survey.dead_letters.key(&dead_letter_id(&consumer, &event.event_id));
        Self {
            mark: survey.mark(found, &consumer, &event.event_id).map(|mark| mark.map_err(drop)),
            letter: Beside::of(&survey.dead_letters, found, &letter),
            fan_out: fan_out(survey, event, queue).map(|(group, shared, notification)| FanOut {
                group,
                shared: Beside::of(&survey.told, found, &shared),
                notified: notification.map(|key| found.get(&key).is_some()),
            }),
            consumer,
        }
    }
}

impl Consumed {
    pub fn check(&self, (recorded_at, published_at): (Time, Time), terms: &Terms, now: Time, notes: &mut Notes) {
        match &self.mark {
            None if !self.letter.is_absent() => {}
            // Marks and discarded dead letters are kept for a limited time.
            None if !terms.keeps_mark(recorded_at, now) || !terms.keeps_letter(recorded_at, now) => {}
            None if !terms.is_overdue(published_at, now) => notes.in_progress += 1,
            None => {
                let expected = format!("a mark or a dead letter of {}", self.consumer);
                let found = format!("neither, published at {published_at}");
                notes.broken(Invariant::EventReachesConsumers, expected, found);
            }
            Some(Ok(mark)) if terms.keeps_told(mark.processed_at, now) => self.check_fan_out(notes),
            Some(_) => {}
        }
    }

    fn check_fan_out(&self, notes: &mut Notes) {
        let Some(fan_out) = &self.fan_out else { return };
        let Self { consumer, .. } = self;
        let group = &fan_out.group;
        match &fan_out.shared {
            Beside::Absent => {
                let expected = format!("an event notification for {group}, as {consumer} has a mark");
                notes.broken(Invariant::MarkedIsTold, expected, "none");
            }
            Beside::Row(shared) if shared.has_cursor => {
                let expected = format!("the fan-out to {group} complete, as {consumer} has a mark");
                notes.broken(Invariant::MarkedIsTold, expected, "an unfinished cursor");
            }
            Beside::Row(_) | Beside::Unreadable => {}
        }
        if fan_out.notified == Some(false) {
            let expected = format!("a notification for {group}, as {consumer} has a mark");
            notes.broken(Invariant::MarkedIsTold, expected, "none");
        }
    }
}
