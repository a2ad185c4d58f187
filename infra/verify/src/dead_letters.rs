//! Dead letters: one per consumer and event, or per send. An open one never expires, and a redriven one was processed.

use domain::Time;
use domain::dead_letter::{DeadLetter, DeadLetterStatus, dead_letter_id, dead_send_id};
use domain::routing::Queue;
use domain::send::SendId;
use futures_util::future::try_join_all;
use ledger::survey::{Seen, Survey, Whole};
use ledger::{Found, Key, LedgerError};
use uuid::Uuid;

use crate::check::{Beside, Check, Notes};
use crate::finding::Invariant;
use crate::lineage::{Lineage, Reported};
use crate::terms::Terms;

/// A dead letter, the events that report its changes, and the result of its redrive.
#[derive(Debug)]
pub(crate) struct DeadLetterCase {
    row: DeadLetter,
    expires_at: Option<Time>,
    lineage: Lineage,
    redrive: Redrive,
}

/// The result of a redrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Redrive {
    /// It was not redriven, or the result is unknown.
    Unknown,
    /// The message is not sent yet, or has a new dead letter.
    NotSent,
    /// The message was sent and not processed.
    Sent,
    /// The message was processed, or the send continues.
    Arrived,
}

/// The send of a dead letter, if it has one.
fn send_id(letter: &DeadLetter) -> Option<SendId> {
    let Some(Queue::Deliver(channel)) = Queue::named(&letter.queue) else { return None };
    serde_json::from_str(&letter.body).ok().filter(|id: &SendId| id.channel == channel)
}

/// The event that reports the redrive.
fn redriven_by<'a>(letter: &DeadLetter, lineage: &'a Lineage) -> Option<&'a domain::EventId> {
    let redriven = letter.status == DeadLetterStatus::Redriven;
    lineage.at(letter.version).filter(|_| redriven).map(|event| &event.event_id)
}

fn keys(survey: &Survey, letter: &DeadLetter, lineage: &Lineage) -> Vec<Key> {
    let Some(redrive) = redriven_by(letter, lineage) else { return Vec::new() };
    let sent = survey.mark_key(&Queue::Redrives.consumer(), redrive);
    let arrived = match (send_id(letter), &letter.event_id) {
        (Some(id), _) => Some(survey.send_key(&id)),
        (None, Some(event_id)) => Some(survey.mark_key(&letter.consumer, event_id)),
        (None, None) => None,
    };
    [sent].into_iter().chain(arrived).collect()
}

impl Redrive {
    fn read(survey: &Survey, letter: &DeadLetter, lineage: &Lineage, found: &Found) -> Self {
        let Some(redrive) = redriven_by(letter, lineage) else { return Self::Unknown };
        if survey.mark(found, &Queue::Redrives.consumer(), redrive).is_none() {
            return Self::NotSent;
        }
        let has_arrived = match (send_id(letter), &letter.event_id) {
            (Some(id), _) => match Beside::of(&survey.sends, found, &survey.send_key(&id)) {
                Beside::Row(send) => !send.is_opened_by(Uuid::parse_str(redrive.as_str()).ok()),
                // It may have expired.
                Beside::Absent | Beside::Unreadable => return Self::Unknown,
            },
            (None, Some(event_id)) => survey.mark(found, &letter.consumer, event_id).is_some(),
            // A message without an event has a new id for each dead letter.
            (None, None) => return Self::Unknown,
        };
        if has_arrived { Self::Arrived } else { Self::Sent }
    }
}

impl Check for DeadLetterCase {
    type Row = DeadLetter;

    fn table(survey: &Survey) -> &Whole<DeadLetter> {
        &survey.dead_letters
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<DeadLetter>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let lineages = rows.iter().map(|seen| async {
            let (kind, id) = DeadLetter::aggregate(seen.row.dead_letter_id);
            Lineage::read(survey, &kind, &id).await
        });
        let lineages = try_join_all(lineages).await?;
        let asked = rows.iter().zip(&lineages).flat_map(|(seen, lineage)| keys(survey, &seen.row, lineage));
        let found = survey.read(asked.collect::<Vec<_>>()).await?;
        let case = |(Seen { key, row, expires_at }, lineage): (Seen<DeadLetter>, Lineage)| {
            let redrive = Redrive::read(survey, &row, &lineage, &found);
            (key, Self { row, expires_at, lineage, redrive })
        };
        Ok(rows.into_iter().zip(lineages).map(case).collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let letter = &self.row;
        self.check_id(notes);
        let mut due = Vec::new();
        match (letter.status, &letter.handled) {
            (DeadLetterStatus::Open, _) => {
                notes.waiting += 1;
                if self.expires_at.is_some() {
                    notes.broken(Invariant::OpenNeverExpires, "no expiry before it is handled", "OPEN");
                }
            }
            (DeadLetterStatus::Redriven | DeadLetterStatus::Discarded, Some(handled)) => {
                due.push((letter.version, handled.at));
                let lost = self.redrive == Redrive::Sent && terms.is_overdue(handled.at, now);
                if lost && terms.keeps_mark(letter.since, now) {
                    let expected =
                        format!("the message processed by {}, or the dead letter open again", letter.consumer);
                    notes.broken(Invariant::RedriveArrives, expected, format!("neither, redriven at {}", handled.at));
                }
            }
            (DeadLetterStatus::Redriven | DeadLetterStatus::Discarded, None) => {
                notes.broken(Invariant::Readable, "who handled it", letter.status.as_str());
            }
        }
        self.lineage.check(&Reported { version: letter.version, due, every: false }, terms, now, notes);
    }
}

impl DeadLetterCase {
    fn check_id(&self, notes: &mut Notes) {
        let letter = &self.row;
        let derived = match (send_id(letter), &letter.event_id) {
            (Some(id), Some(_)) => dead_send_id(&letter.consumer, id.notification_id),
            (None, Some(event_id)) => dead_letter_id(&letter.consumer, event_id),
            // An unreadable message is one of its own.
            (_, None) => return,
        };
        if derived != letter.dead_letter_id {
            let expected = format!("dead letter {derived} of {} and its event", letter.consumer);
            notes.broken(Invariant::LetterIsUnique, expected, "a different id");
        }
    }
}
