//! What was skipped: nobody opts out during a soak and everybody has every address, so a send is skipped only where its
//! provider has called the address dead, and the person has not moved since.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Time;
use domain::recipient::Channel;
use domain::send::{ChannelSend, SendState};
use providers::{Outcome, Sent};

use super::people::{home, user_id};

/// Between reading somebody's record and noting what came of it lies one invocation at most: the template's ten seconds,
/// and as much again for a machine that is busy.
const LEEWAY: Duration = Duration::from_secs(20);

/// When somebody was given new addresses.
#[derive(Debug, Clone, Copy)]
pub struct Move {
    /// The number that the new addresses have.
    pub number: usize,
    /// Not before then.
    pub begun: Time,
    /// No later than then, if it was answered.
    pub done: Option<Time>,
}

/// When each address was called dead, and for how long it was whose.
#[derive(Debug)]
pub struct Graveyard<'a> {
    dead: BTreeMap<(Channel, String), Vec<(usize, Time)>>,
    moves: &'a BTreeMap<usize, Vec<Move>>,
}

impl<'a> Graveyard<'a> {
    /// What the providers have called dead among all that they got.
    pub fn new(sent: &[Sent], moves: &'a BTreeMap<usize, Vec<Move>>) -> Self {
        let mut dead: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for sent in sent.iter().filter(|sent| sent.outcome == Outcome::Rejected) {
            let channel = match sent.channel {
                providers::Target::Sms => Channel::Sms,
                providers::Target::Push => Channel::Push,
                providers::Target::Slack => Channel::Slack,
                // A mail that is refused is FAILED: nothing is said of the mailbox.
                providers::Target::Email | providers::Target::Payment => continue,
            };
            let home = home(sent.channel, sent.to.as_deref().unwrap_or_default());
            let at = Time::from_millis(sent.at.as_millisecond());
            if let (Some((user, number)), Some(at)) = (home, at) {
                dead.entry((channel, user)).or_default().push((number, at));
            }
        }
        Self { dead, moves }
    }

    /// Why a send must not be SKIPPED, if it is.
    pub fn problem(&self, send: &ChannelSend) -> Option<String> {
        let SendState::Skipped { ended_at } = send.state else { return None };
        let (channel, user) = (send.id.channel, send.id.user_id.to_string());
        let reason = send.last_error.as_deref().unwrap_or_default();
        // A dead push token is removed, any other address is suppressed.
        let is_reason = reason == "suppressed" || (reason == "no address" && channel == Channel::Push);
        let dead = self.dead.get(&(channel, user.clone())).into_iter().flatten();
        let mut dead = dead.filter(|(number, at)| {
            *at <= ended_at.plus(LEEWAY)
                && self.left_at(&user, *number).is_none_or(|left| left.plus(LEEWAY) >= ended_at)
        });
        let is_right = is_reason && dead.next().is_some();
        let words = || format!("{} to {user} of event {}: SKIPPED ({reason})", channel.as_str(), send.id.event_id);
        (!is_right).then(|| format!("{}, and no provider called the address dead", words()))
    }

    /// When somebody certainly had other addresses than these: the end of the first move after theirs.
    fn left_at(&self, user: &str, number: usize) -> Option<Time> {
        let (_, moves) = self.moves.iter().find(|(person, _)| user_id(**person) == user)?;
        let done = moves.iter().find(|move_| move_.number == number)?.done?;
        moves.iter().filter(|move_| move_.begun >= done).filter_map(|move_| move_.done).min()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Time {
        Time::from_millis(second * 1_000).expect("a time")
    }

    fn send(channel: &str, reason: &str, ended_at: i64) -> ChannelSend {
        let send = json!({
            "event_id": "e", "notification_id": uuid::Uuid::nil(), "channel": channel, "audience": "CUSTOMER",
            "user_id": "person-01", "group": "user:person-01", "event_type": "Announcement", "created_at": at(0),
            "status": "SKIPPED", "ended_at": at(ended_at), "attempt_count": 0, "last_error": reason,
            "opened_at": at(0), "due_at": at(0), "version": 1,
        });
        serde_json::from_value(send).expect("a send")
    }

    fn rejected(channel: providers::Target, to: &str, second: i64) -> Sent {
        let at = jiff::Timestamp::from_second(second).expect("a time");
        let (to, outcome) = (Some(to.to_owned()), Outcome::Rejected);
        Sent { at, channel, to, subject: None, body: None, idempotency_key: None, outcome, email: None, payment: None }
    }

    #[test]
    fn a_send_is_skipped_where_its_address_was_called_dead_and_nowhere_else() {
        let move_ = |number, begun, done| Move { number, begun: at(begun), done: Some(at(done)) };
        let moves = BTreeMap::from([(1, vec![move_(0, 0, 1), move_(7, 500, 501)])]);
        let sent = [
            rejected(providers::Target::Push, "person-01.0", 100),
            rejected(providers::Target::Slack, "/services/T0/person-01/7", 600),
            rejected(providers::Target::Email, "person-01.0@example.com", 100),
        ];
        let graveyard = Graveyard::new(&sent, &moves);
        let is_right = |channel, reason, second| graveyard.problem(&send(channel, reason, second)).is_none();
        for (channel, reason, second) in
            [("PUSH", "suppressed", 100), ("PUSH", "no address", 400), ("SLACK", "suppressed", 5_000)]
        {
            assert!(is_right(channel, reason, second), "{channel} {reason} at {second}");
        }
        for (channel, reason, second) in [
            ("PUSH", "suppressed", 50),
            ("PUSH", "no address", 600),
            ("PUSH", "opted out", 100),
            ("PUSH", "not set up", 100),
            ("SLACK", "suppressed", 500),
            ("SLACK", "no address", 600),
            ("SMS", "suppressed", 100),
            ("EMAIL", "suppressed", 100),
        ] {
            assert!(!is_right(channel, reason, second), "{channel} {reason} at {second}");
        }
    }
}
