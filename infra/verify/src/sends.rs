//! Sends: each belongs to a notification, is attempted in time, and has the record that its result demands.

use domain::Time;
use domain::dead_letter::dead_send_id;
use domain::routing::Queue;
use domain::send::{ChannelSend, SendState};
use ledger::survey::{Seen, Survey, Whole};
use ledger::{Key, LedgerError};

use crate::check::{Check, Notes};
use crate::finding::Invariant;
use crate::terms::{Terms, is_expiring};

/// A send, and whether its notification and dead letter exist.
#[derive(Debug)]
pub(crate) struct SendCase {
    row: ChannelSend,
    expires_at: Option<Time>,
    has_notification: bool,
    has_letter: bool,
}

fn keys(survey: &Survey, send: &ChannelSend) -> [Key; 2] {
    let id = &send.id;
    let letter = dead_send_id(&Queue::Deliver(id.channel).consumer(), id.notification_id);
    let notification = survey.notification_key(id.audience, &id.user_id, id.notification_id);
    [notification, survey.dead_letters.key(&letter)]
}

impl Check for SendCase {
    type Row = ChannelSend;

    fn table(survey: &Survey) -> &Whole<ChannelSend> {
        &survey.sends
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<ChannelSend>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let found = survey.read(rows.iter().flat_map(|seen| keys(survey, &seen.row))).await?;
        let case = |Seen { key, row, expires_at }: Seen<ChannelSend>| {
            let [has_notification, has_letter] = keys(survey, &row).map(|key| found.get(&key).is_some());
            (key, Self { row, expires_at, has_notification, has_letter })
        };
        Ok(rows.into_iter().map(case).collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let send = &self.row;
        let status = send.state.as_str();
        let ended_at = send.state.ended_at();
        if ended_at.is_none() && self.expires_at.is_some() {
            notes.broken(Invariant::OpenNeverExpires, "no expiry before it is finished", status);
        }
        if is_expiring(self.expires_at, now) {
            return;
        }
        if !self.has_notification && terms.keeps_told(send.created_at, now) {
            let expected = format!("notification {} of {}", send.id.notification_id, send.id.user_id);
            notes.broken(Invariant::SendBelongsToNotification, expected, "none");
        }
        let keeps_letter = ended_at.is_none_or(|ended_at| terms.keeps_letter(ended_at, now));
        if send.state.is_given_up() && !self.has_letter && keeps_letter {
            notes.broken(Invariant::GivenUpHasLetter, "a dead letter", format!("{status} without one"));
        }
        if matches!(send.state, SendState::Sent { .. }) && send.receipts.is_empty() {
            notes.broken(Invariant::SentHasReceipt, "a provider's receipt", "none");
        }
        if ended_at.is_some() || send.state.is_given_up() {
            return;
        }
        if send.is_stuck() {
            let found = format!("{status}, re-enqueued {} times but never attempted", send.swept);
            notes.broken(Invariant::SendInTime, "a finished send", found);
        } else if terms.is_overdue(send.due_at, now) {
            notes.broken(Invariant::SendInTime, "a finished send", format!("{status}, due since {}", send.due_at));
        } else {
            notes.in_progress += 1;
        }
    }
}
