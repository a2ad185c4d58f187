//! Whether a recipient can and wants to be told through a channel, and at which addresses.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Channel, ChannelChoice, Preference, Recipient, RecipientDetails};
use crate::Time;
use crate::id::Line;

/// Why a send is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// The recipient has no address for the channel.
    NoAddress,
    /// The recipient does not want it.
    OptedOut,
    /// The provider has called the address dead.
    Suppressed,
    /// This deployment has no provider for the channel.
    NotSetUp,
}

impl Skip {
    /// The reason as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAddress => "no address",
            Self::OptedOut => "opted out",
            Self::Suppressed => "suppressed",
            Self::NotSetUp => "not set up",
        }
    }
}

/// An address that a provider has called dead. It stays suppressed until the record names another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppression {
    /// The channel.
    pub channel: Channel,
    /// The address, hashed.
    pub address: String,
    /// Since when.
    pub at: Time,
}

/// A hash of an address: enough to recognise it, and nothing that a log or a list may not show.
pub fn address_hash(address: &str) -> String {
    hex::encode(&Sha256::digest(address.as_bytes())[..16])
}

impl RecipientDetails {
    /// Whether the person wishes to hear of this event type through this channel. What is said of one type and one
    /// channel goes before what is said of all; of the same weight, the last word counts; where nothing is said, yes.
    pub fn wants(&self, event_type: &str, channel: Channel) -> bool {
        let weight = |preference: &Preference| {
            let of_type = match preference.event_type.as_str() {
                "*" => 0,
                named if named == event_type => 2,
                _ => return None,
            };
            match preference.channel {
                ChannelChoice::Every(_) => Some(of_type),
                ChannelChoice::One(named) if named == channel => Some(of_type + 1),
                ChannelChoice::One(_) => None,
            }
        };
        let weighed = self.preferences.iter().filter_map(|preference| Some((weight(preference)?, preference.enabled)));
        weighed.max_by_key(|(weight, _)| *weight).is_none_or(|(_, enabled)| enabled)
    }

    /// The same without any wish to hear through this channel. What goes for nothing, because the same is said again
    /// further down, is left out, so that the list does not outgrow what a person may write.
    #[must_use]
    pub fn opted_out_of(&self, channel: Channel) -> Self {
        let is_last = |index: usize, preference: &Preference| {
            let same =
                |later: &Preference| later.event_type == preference.event_type && later.channel == preference.channel;
            !self.preferences.iter().skip(index + 1).any(same)
        };
        let of_channel = |preference: &Preference| preference.channel == ChannelChoice::One(channel);
        let kept = self.preferences.iter().enumerate();
        let kept = kept.filter(|(index, preference)| !of_channel(preference) && is_last(*index, preference));
        let mut preferences: Vec<Preference> = kept.map(|(_, preference)| preference.clone()).collect();
        let no = |event_type: &Line| Preference {
            event_type: event_type.clone(),
            channel: ChannelChoice::One(channel),
            enabled: false,
        };
        // What is wished of one type and every channel would go before "no type, this channel".
        let stronger = |preference: &&Preference| {
            preference.enabled
                && preference.event_type.as_str() != "*"
                && matches!(preference.channel, ChannelChoice::Every(_))
        };
        let mut noes: Vec<Preference> =
            preferences.iter().filter(stronger).map(|preference| no(&preference.event_type)).collect();
        noes.extend(Line::parse("*").ok().as_ref().map(no));
        preferences.extend(noes);
        Self { preferences, ..self.clone() }
    }

    /// Where a channel reaches the person.
    pub fn addresses(&self, channel: Channel) -> Vec<&str> {
        match channel {
            Channel::Email => self.email.iter().map(|email| email.as_str()).collect(),
            Channel::Sms => self.phone.iter().map(|phone| phone.as_str()).collect(),
            Channel::Push => self.push_tokens.iter().map(|token| token.as_str()).collect(),
            Channel::Slack => self.slack_webhook_url.iter().map(|url| url.as_str()).collect(),
            Channel::Websocket => Vec::new(),
        }
    }
}

impl Recipient {
    /// Why there is nothing to send through this channel of this event type, if so.
    pub fn skip(&self, event_type: &str, channel: Channel) -> Option<Skip> {
        let addresses = self.details.addresses(channel);
        if addresses.is_empty() {
            return Some(Skip::NoAddress);
        }
        if !self.details.wants(event_type, channel) {
            return Some(Skip::OptedOut);
        }
        addresses.iter().all(|address| self.is_suppressed(channel, address)).then_some(Skip::Suppressed)
    }

    fn is_suppressed(&self, channel: Channel, address: &str) -> bool {
        let hash = address_hash(address);
        self.suppressed.iter().any(|suppressed| suppressed.channel == channel && suppressed.address == hash)
    }

    /// The person without an address that a provider has called dead: a push token is removed, any other address is
    /// suppressed. `None` where nothing changes, because the record names another address by now.
    pub fn without(&self, channel: Channel, address: &str, now: Time) -> Option<Self> {
        if !self.details.addresses(channel).contains(&address) || self.is_suppressed(channel, address) {
            return None;
        }
        let mut changed = self.clone();
        if channel == Channel::Push {
            changed.details.push_tokens.retain(|token| token.as_str() != address);
        } else {
            changed.suppressed.push(Suppression { channel, address: address_hash(address), at: now });
        }
        Some(changed)
    }

    /// The same without several of them.
    pub fn without_all(&self, channel: Channel, addresses: &[String], now: Time) -> Option<Self> {
        let without = |changed: Option<Self>, address: &String| {
            changed.as_ref().unwrap_or(self).without(channel, address, now).or(changed)
        };
        addresses.iter().fold(None, without)
    }

    /// The suppressions that hold for the addresses of the new details.
    pub fn keeping_suppressions(mut self, before: &Self) -> Self {
        let details = &self.details;
        let still = |suppressed: &&Suppression| {
            details.addresses(suppressed.channel).iter().any(|address| address_hash(address) == suppressed.address)
        };
        self.suppressed = before.suppressed.iter().filter(still).cloned().collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn recipient(details: Value) -> Recipient {
        let mut whole = json!({"user_type": "CUSTOMER", "user_id": "u", "name": "N"});
        for (name, value) in details.as_object().expect("an object") {
            whole[name] = value.clone();
        }
        serde_json::from_value(whole).expect("a recipient")
    }

    #[test]
    fn what_is_said_of_one_goes_before_what_is_said_of_all() {
        let wish = |event_type: &str, channel: &str, enabled: bool| json!({"event_type": event_type, "channel": channel, "enabled": enabled});
        let cases = [
            (vec![], true),
            (vec![wish("*", "*", false)], false),
            (vec![wish("*", "*", false), wish("*", "EMAIL", true)], true),
            (vec![wish("*", "EMAIL", true), wish("T", "*", false)], false),
            (vec![wish("T", "EMAIL", true), wish("T", "*", false)], true),
            (vec![wish("U", "EMAIL", false), wish("T", "SMS", false)], true),
            (vec![wish("T", "EMAIL", true), wish("T", "EMAIL", false)], false),
        ];
        for (preferences, wanted) in cases {
            let details = recipient(json!({"email": "a@b.it", "preferences": preferences})).details;
            assert_eq!(details.wants("T", Channel::Email), wanted, "{preferences:?}");
        }
    }

    #[test]
    fn opting_out_of_a_channel_leaves_nothing_of_it_and_everything_else() {
        let preferences = json!([
            {"event_type": "T", "channel": "*", "enabled": true},
            {"event_type": "U", "channel": "EMAIL", "enabled": true},
            {"event_type": "V", "channel": "SMS", "enabled": false},
        ]);
        let details = recipient(json!({"email": "a@b.it", "preferences": preferences})).details;
        let opted_out = details.opted_out_of(Channel::Email);
        for event_type in ["T", "U", "V", "W"] {
            assert!(!opted_out.wants(event_type, Channel::Email), "{event_type}");
            assert_eq!(opted_out.wants(event_type, Channel::Sms), details.wants(event_type, Channel::Sms));
        }
        assert_eq!(opted_out.opted_out_of(Channel::Email), opted_out);
        let noes = opted_out.preferences.iter().filter(|wish| wish.channel == ChannelChoice::One(Channel::Email));
        assert_eq!(noes.map(|wish| wish.event_type.as_str()).collect::<Vec<_>>(), ["T", "*"]);
    }

    #[test]
    fn opting_out_keeps_a_full_list_within_its_bound() {
        let wish = |channel: &str| json!({"event_type": "T", "channel": channel, "enabled": true});
        let full: Vec<Value> = ["*", "SMS"].into_iter().cycle().take(100).map(wish).collect();
        let details = recipient(json!({"preferences": full})).details.opted_out_of(Channel::Email);
        assert!(details.preferences.len() <= 100, "{}", details.preferences.len());
        assert!(details.wants("T", Channel::Sms) && !details.wants("T", Channel::Email));
    }

    #[test]
    fn a_send_is_skipped_for_a_reason() {
        let off = json!([{"event_type": "*", "channel": "EMAIL", "enabled": false}]);
        assert_eq!(recipient(json!({"email": "a@b.it"})).skip("T", Channel::Email), None);
        assert_eq!(recipient(json!({})).skip("T", Channel::Email), Some(Skip::NoAddress));
        let opted_out = recipient(json!({"email": "a@b.it", "preferences": off}));
        assert_eq!(opted_out.skip("T", Channel::Email), Some(Skip::OptedOut));
    }

    #[test]
    fn a_dead_address_is_suppressed_until_the_record_names_another() {
        let alive = recipient(json!({"email": "a@b.it"}));
        let dead = alive.without(Channel::Email, "a@b.it", Time::now()).expect("a change");
        assert_eq!(dead.skip("T", Channel::Email), Some(Skip::Suppressed));
        assert_eq!(dead.without(Channel::Email, "a@b.it", Time::now()), None);
        assert_eq!(alive.clone().keeping_suppressions(&dead).skip("T", Channel::Email), Some(Skip::Suppressed));
        let moved = recipient(json!({"email": "c@d.it"})).keeping_suppressions(&dead);
        assert_eq!((moved.skip("T", Channel::Email), moved.suppressed.len()), (None, 0));
    }

    #[test]
    fn a_dead_push_token_is_removed_and_the_others_stay() {
        let two = recipient(json!({"push_tokens": ["a", "b"]}));
        let one = two.without(Channel::Push, "a", Time::now()).expect("a change");
        assert_eq!(one.details.addresses(Channel::Push), ["b"]);
        assert_eq!(one.without(Channel::Push, "a", Time::now()), None);
        let all = ["a", "b", "c"].map(str::to_owned);
        let none = two.without_all(Channel::Push, &all, Time::now()).expect("a change");
        assert!(none.details.push_tokens.is_empty());
        assert_eq!(none.without_all(Channel::Push, &all, Time::now()), None);
    }

    #[test]
    fn a_record_without_suppressions_reads_as_it_was_written() {
        let alive = recipient(json!({"email": "a@b.it"}));
        assert!(!serde_json::to_string(&alive).expect("json").contains("suppressed"));
        let dead = alive.without(Channel::Email, "a@b.it", Time::now()).expect("a change");
        let read: Recipient = serde_json::from_str(&serde_json::to_string(&dead).expect("json")).expect("a recipient");
        assert_eq!(read, dead);
    }
}
