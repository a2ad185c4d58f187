//! Who was told: everybody of each group once, in the inbox and through the channels, by the providers' own record.

use std::collections::{BTreeMap, BTreeSet};

use domain::EventId;
use domain::recipient::Channel;
use domain::send::{ChannelSend, SendState};
use ledger::survey::{EventRow, Survey};
use providers::{Outcome, Target};
use reqwest::Method;
use serde_json::{Value, json};

use super::Soak;
use super::audit::all;
use super::people::{PEOPLE, kind, members, owner, user_id};

/// Who was told of what through which channel: the user, and the text that only messages about one thing have.
type About = (String, String, String);

/// How often somebody may have been told of one thing through one channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bounds {
    least: usize,
    most: usize,
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
    /// know.
    async fn providers_agree(&self, survey: &Survey, events: &[EventRow]) -> Vec<String> {
        let marks: BTreeMap<&EventId, String> =
            events.iter().filter_map(|row| Some((&row.entry.event_id, mark(row)?))).collect();
        let mut allowed: BTreeMap<About, Bounds> = BTreeMap::new();
        for send in all(survey, &survey.sends).await {
            let Some(mark) = marks.get(&send.order.event_id) else { continue };
            let about = (send.order.channel.as_str().to_owned(), send.order.user_id.to_string(), mark.clone());
            let bounds = allowed.entry(about).or_default();
            let unknown = unknown(&send);
            let sent = usize::from(matches!(send.state, SendState::Sent { .. }));
            bounds.least += sent;
            bounds.most += sent + unknown;
        }
        let mut reached: BTreeMap<About, usize> = BTreeMap::new();
        let mut wrong = Vec::new();
        let desk = &self.world.providers.desk;
        for channel in [Channel::Email, Channel::Sms, Channel::Push, Channel::Slack] {
            let name = channel.as_str();
            let known: Vec<&About> = allowed.keys().filter(|(channel, _, _)| channel == name).collect();
            for sent in desk.sent(Some(target(channel))) {
                if !matches!(sent.outcome, Outcome::Accepted | Outcome::AnswerDropped) {
                    continue;
                }
                let text = format!("{} {}", sent.subject.unwrap_or_default(), sent.body.unwrap_or_default());
                let user = owner(sent.channel, &sent.to.unwrap_or_default()).unwrap_or_default();
                match known.iter().find(|(_, to, mark)| *to == user && text.contains(mark.as_str())) {
                    Some(about) => *reached.entry((*about).clone()).or_default() += 1,
                    None => wrong.push(format!("{name} to {user}: nobody asked for it")),
                }
            }
        }
        for (about, Bounds { least, most }) in allowed {
            let times = reached.remove(&about).unwrap_or_default();
            if !(least..=most).contains(&times) {
                let (channel, user, mark) = about;
                wrong.push(format!("{channel} to {user} of {mark}: {times} times, not {least} to {most}"));
            }
        }
        wrong
    }
}

/// How often nobody could know whether it was sent.
fn unknown(send: &ChannelSend) -> usize {
    send.attempts.iter().filter(|attempt| attempt.outcome.starts_with("unknown")).count()
}

fn target(channel: Channel) -> Target {
    match channel {
        Channel::Email => Target::Email,
        Channel::Sms => Target::Sms,
        Channel::Push | Channel::Websocket => Target::Push,
        Channel::Slack => Target::Slack,
    }
}

/// The text that every message about this event has, and no message about anything else.
fn mark(row: &EventRow) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let payload = &row.event.as_ref().ok()?.payload;
    let text = |name: &str| payload[name].as_str();
    let slot = |time: &str| {
        let (year, rest) = time.split_once('-')?;
        let month: usize = rest.get(..2)?.parse().ok()?;
        Some(format!("{} {year}, 20:00", MONTHS.get(month.checked_sub(1)?)?))
    };
    text("source_id")
        .or_else(|| text("title"))
        .map(str::to_owned)
        .or_else(|| text("slot_time").and_then(slot))
        .or_else(|| text("order_id").map(str::to_owned))
}
