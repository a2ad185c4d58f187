//! Who was told: everybody of each group once, in the inbox and through the channels, by the providers' own record.

use std::collections::{BTreeMap, BTreeSet};

use domain::EventId;
use domain::recipient::Channel;
use domain::send::{ChannelSend, SendState};
use ledger::survey::{EventRow, Survey};
use providers::{Outcome, Sent, Target};
use reqwest::Method;
use serde_json::{Value, json};

use super::Soak;
use super::about::About;
use super::audit::all;
use super::people::{PEOPLE, home, kind, members, user_id};
use super::skipped::Graveyard;

/// Who may be told through which channel: its name, and the user.
type To = (String, String);

/// How often somebody may have been told of one event through one channel, and how often they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bounds {
    least: usize,
    most: usize,
    reached: usize,
}

impl Soak {
    pub(super) async fn everybody_is_told(&self, survey: &Survey, events: &[EventRow]) -> Vec<String> {
        let mut wrong = self.groups_are_told(survey).await;
        wrong.extend(self.inboxes_show_it(survey).await);
        wrong.extend(self.providers_agree(survey, events).await);
        wrong
    }

    /// Each group was told whole: nobody leaves or joins one during a soak.
    async fn groups_are_told(&self, survey: &Survey) -> Vec<String> {
        let mut told: BTreeMap<(String, String, String), BTreeSet<String>> = BTreeMap::new();
        let mut wrong = Vec::new();
        for row in all(survey, &survey.notifications).await {
            let group = (row.event_id.to_string(), row.audience.to_string(), row.group.clone());
            if !told.entry(group).or_default().insert(row.user_id.to_string()) {
                wrong.push(format!("event {}: {} was told twice", row.event_id, row.user_id));
            }
        }
        for row in all(survey, &survey.told).await {
            let (event_id, audience, group) =
                (row.shared.event_id.to_string(), row.shared.audience.to_string(), row.shared.group.clone());
            let expected = members(&audience, &group);
            let there = told.remove(&(event_id.clone(), audience, group.clone())).unwrap_or_default().len();
            if there != expected {
                wrong.push(format!("event {event_id}: {there} of {expected} of {group} were told"));
            }
        }
        wrong.extend(
            told.into_keys().map(|(event_id, _, group)| format!("event {event_id}: nobody meant to tell {group}")),
        );
        wrong
    }

    /// Each inbox shows what the table holds, once.
    async fn inboxes_show_it(&self, survey: &Survey) -> Vec<String> {
        let mut rows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in all(survey, &survey.notifications).await {
            rows.entry(row.user_id.to_string()).or_default().insert(row.notification_id.to_string());
        }
        let mut wrong = Vec::new();
        for person in 0..PEOPLE {
            let shown = self.inbox(person).await;
            let distinct: BTreeSet<String> = shown.iter().cloned().collect();
            if distinct.len() != shown.len() {
                wrong.push(format!("{}: the inbox shows something twice", user_id(person)));
            }
            if distinct != rows.remove(&user_id(person)).unwrap_or_default() {
                wrong.push(format!("{}: the inbox shows {} others than stored", user_id(person), distinct.len()));
            }
        }
        wrong
    }

    async fn inbox(&self, person: usize) -> Vec<String> {
        let claims = json!({"sub": user_id(person), "user_type": kind(person).0, "scopes": []});
        let mut shown = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/v1/inbox?limit=100{cursor}");
            let page = self.world.ask(Some(&claims), Method::GET, &path, None, None).await;
            let page: Value = page.and_then(|(_, text)| serde_json::from_str(&text).ok()).unwrap_or_default();
            let told = page["notifications"].as_array().into_iter().flatten();
            shown.extend(told.filter_map(|told| told["notification_id"].as_str().map(str::to_owned)));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return shown,
            }
        }
    }

    /// What the providers got is what the sends say: once each, and once more at most for every time that nobody could
    /// know. What was skipped had nobody to be sent to.
    async fn providers_agree(&self, survey: &Survey, events: &[EventRow]) -> Vec<String> {
        let abouts: BTreeMap<&EventId, About> =
            events.iter().filter_map(|row| Some((&row.entry.event_id, About::event(row)?))).collect();
        let got = self.world.backends.providers.sent(None);
        let moves = self.log.lock().moves.clone();
        let graveyard = Graveyard::new(&got, &moves);
        let mut wrong = Vec::new();
        let mut allowed: BTreeMap<To, BTreeMap<About, Bounds>> = BTreeMap::new();
        for send in all(survey, &survey.sends).await {
            wrong.extend(graveyard.problem(&send));
            let Some(about) = abouts.get(&send.id.event_id) else { continue };
            let to = (send.id.channel.as_str().to_owned(), send.id.user_id.to_string());
            let bounds = allowed.entry(to).or_default().entry(about.clone()).or_default();
            let unknown = unknown(&send);
            let sent = usize::from(matches!(send.state, SendState::Sent { .. }));
            bounds.least += sent;
            bounds.most += sent + unknown;
        }
        wrong.extend(reached_as_allowed(&got, allowed));
        wrong
    }
}

/// What providers got and nobody asked for, or too seldom, or too often.
fn reached_as_allowed(got: &[Sent], mut allowed: BTreeMap<To, BTreeMap<About, Bounds>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for sent in got.iter().filter(|sent| matches!(sent.outcome, Outcome::Accepted | Outcome::AnswerDropped)) {
        let Some(name) = name(sent.channel) else { continue };
        let user = home(sent.channel, sent.to.as_deref().unwrap_or_default()).unwrap_or_default().0;
        let mut known = allowed.get_mut(&(name.to_owned(), user.clone())).into_iter().flatten();
        match known.find(|(about, _)| about.is_told_by(sent)) {
            Some((_, bounds)) => bounds.reached += 1,
            None => wrong.push(format!("{name} to {user}: nobody asked for it")),
        }
    }
    for ((channel, user), abouts) in allowed {
        for (About { mark, event_type }, Bounds { least, most, reached }) in abouts {
            if !(least..=most).contains(&reached) {
                let about = format!("{event_type} of {mark}");
                wrong.push(format!("{channel} to {user} of {about}: {reached} times, not {least} to {most}"));
            }
        }
    }
    wrong
}

/// How often nobody could know whether it was sent.
fn unknown(send: &ChannelSend) -> usize {
    send.attempts.iter().filter(|attempt| attempt.outcome.starts_with("unknown")).count()
}

/// The channel's name, where it is one.
fn name(target: Target) -> Option<&'static str> {
    Some(match target {
        Target::Email => Channel::Email.as_str(),
        Target::Sms => Channel::Sms.as_str(),
        Target::Push => Channel::Push.as_str(),
        Target::Slack => Channel::Slack.as_str(),
        Target::Payment => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_too_often_does_not_make_up_for_what_is_not_told() {
        let mark = "May 2100, 20:00".to_owned();
        let about = |event_type: &str| About { mark: mark.clone(), event_type: event_type.to_owned() };
        let to = ("PUSH".to_owned(), "person-01".to_owned());
        let once = Bounds { least: 1, most: 1, reached: 0 };
        let both = [(about("ReservationRequested"), once), (about("ReservationAccepted"), once)];
        let allowed = BTreeMap::from([(to, BTreeMap::from(both))]);
        let sent = |title: &str| Sent {
            at: jiff::Timestamp::UNIX_EPOCH,
            channel: Target::Push,
            to: Some("person-01.0".to_owned()),
            subject: Some(title.to_owned()),
            body: Some(format!("On 28 {mark}.")),
            idempotency_key: None,
            outcome: Outcome::Accepted,
            email: None,
            payment: None,
        };
        let (requested, accepted) = (sent("Your table for 2 is requested"), sent("Table confirmed"));
        let none: [String; 0] = [];
        assert_eq!(reached_as_allowed(&[requested, accepted.clone()], allowed.clone()), none);
        let wrong = reached_as_allowed(&[accepted.clone(), accepted], allowed);
        assert_eq!(
            wrong,
            [
                format!("PUSH to person-01 of ReservationAccepted of {mark}: 2 times, not 1 to 1"),
                format!("PUSH to person-01 of ReservationRequested of {mark}: 0 times, not 1 to 1"),
            ]
        );
    }
}
