//! Recipients: who can be told, where, and what they wish to hear.

use serde::{Deserialize, Serialize};

use crate::id::{AgencyId, Line, RestaurantId};
use crate::routing::{Group, Routes};
use crate::{Audience, UserId};

mod reach;

pub use reach::{Skip, Suppression, address_hash};

/// The most wishes of one person.
const MOST_WISHES: usize = 100;

/// One person who can be told things.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipient {
    /// Which of the four kinds.
    pub user_type: Audience,
    /// Who, within the kind.
    pub user_id: UserId,
    /// The person's addresses and wishes.
    #[serde(flatten)]
    pub details: RecipientDetails,
    /// The addresses that a provider has called dead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<Suppression>,
}

/// Addresses and wishes: the body of `PUT /v1/recipients/{user_type}/{user_id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipientDetails {
    /// How others see the person ("handled by NAME").
    pub name: Line,
    /// Where EMAIL goes.
    #[serde(default)]
    pub email: Option<Email>,
    /// Where SMS goes.
    #[serde(default)]
    pub phone: Option<Phone>,
    /// Where PUSH goes, at most 20.
    #[serde(default)]
    pub push_tokens: Vec<PushToken>,
    /// Where SLACK goes.
    #[serde(default)]
    pub slack_webhook_url: Option<WebhookUrl>,
    /// Whose staff a RESTAURANT_USER is.
    #[serde(default)]
    pub restaurant_id: Option<RestaurantId>,
    /// Whose staff an AGENCY_USER is.
    #[serde(default)]
    pub agency_id: Option<AgencyId>,
    /// A language tag, such as `en` or `it`.
    #[serde(default)]
    pub locale: Option<Locale>,
    /// An IANA time zone, such as `Europe/Rome`.
    #[serde(default)]
    pub time_zone: Option<TimeZone>,
    /// What the person does, or does not, wish to hear; where nothing is said, everything.
    #[serde(default)]
    pub preferences: Vec<Preference>,
}

/// One wish: of this event type (or all, `*`), through this channel (or all, `*`), yes or no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preference {
    /// An event type, or `*`.
    pub event_type: Line,
    /// A channel, or `*`.
    pub channel: ChannelChoice,
    /// Whether to tell.
    pub enabled: bool,
}

/// A way to reach somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Channel {
    /// E-mail.
    Email,
    /// Text message.
    Sms,
    /// Push to a phone or browser.
    Push,
    /// Slack webhook.
    Slack,
    /// Live socket; direct, has no stored send.
    Websocket,
}

impl Channel {
    /// The channels that have a stored send; a live socket has none.
    pub const SENT: [Self; 4] = [Self::Email, Self::Sms, Self::Push, Self::Slack];

    /// The name as it is written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Email => "EMAIL",
            Self::Sms => "SMS",
            Self::Push => "PUSH",
            Self::Slack => "SLACK",
            Self::Websocket => "WEBSOCKET",
        }
    }
}

/// A channel, or every channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ChannelChoice {
    /// Just this one.
    One(Channel),
    /// `*`.
    Every(Star),
}

/// The text `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Star {
    /// `*`.
    #[serde(rename = "*")]
    Star,
}

/// A field of a recipient is not what it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadDetail(&'static str);

/// What does not fit together in a recipient: the field and the problem.
pub type Misfit = (&'static str, &'static str);

impl Recipient {
    /// The group whose member the person is by what the record says.
    pub fn group(&self) -> Option<Group> {
        match self.user_type {
            Audience::Customer => None,
            Audience::RestaurantUser => self.details.restaurant_id.clone().map(Group::Restaurant),
            Audience::AgencyUser => self.details.agency_id.clone().map(Group::Agency),
            Audience::AdminUser => Some(Group::All),
        }
    }

    /// Whether the person is told what this group is told, by what the record says.
    pub fn belongs_to(&self, group: &Group) -> bool {
        match group {
            Group::User(user_id) => *user_id == self.user_id,
            Group::Restaurant(_) | Group::Agency(_) | Group::All => self.group().as_ref() == Some(group),
        }
    }
}

impl RecipientDetails {
    /// Checks what concerns more than one field, and the sizes of lists.
    pub fn misfits(&self, user_type: Audience) -> Vec<Misfit> {
        let mut misfits = Vec::new();
        let mut check = |fits: bool, field, problem| {
            if !fits {
                misfits.push((field, problem));
            }
        };
        let is_restaurant = user_type == Audience::RestaurantUser;
        let is_agency = user_type == Audience::AgencyUser;
        check(
            self.restaurant_id.is_some() == is_restaurant,
            "restaurant_id",
            "RESTAURANT_USER must have one, nobody else may",
        );
        check(self.agency_id.is_some() == is_agency, "agency_id", "AGENCY_USER must have one, nobody else may");
        check(self.push_tokens.len() <= 20, "push_tokens", "at most 20");
        misfits
    }
}

/// What is wrong with a list of wishes: the field, by its path in the body, and the problem.
pub fn bad_wishes(preferences: &[Preference], routes: &Routes) -> Vec<(String, String)> {
    if preferences.len() > MOST_WISHES {
        return vec![("preferences".to_owned(), format!("at most {MOST_WISHES}"))];
    }
    let unknown = |preference: &Preference| {
        let event_type = preference.event_type.as_str();
        (event_type != "*" && !routes.knows(event_type)).then(|| format!("no route knows the type {event_type}"))
    };
    let bad = preferences.iter().enumerate().filter_map(|(index, preference)| Some((index, unknown(preference)?)));
    bad.map(|(index, problem)| (format!("preferences[{index}].event_type"), problem)).collect()
}

macro_rules! checked_text {
    ($($(#[$doc:meta])* $name:ident, $problem:literal, $fits:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// The value as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadDetail;

            fn try_from(text: String) -> Result<Self, BadDetail> {
                let fits: fn(&str) -> bool = $fits;
                if fits(&text) { Ok(Self(text)) } else { Err(BadDetail($problem)) }
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }
    )+};
}

checked_text! {
    /// An e-mail address: checked for shape only, the provider knows the rest.
    Email, "must be an e-mail address", is_email;
    /// A phone number in E.164.
    Phone, "must be a phone number in E.164, such as +390612345678", is_e164;
    /// A push token: 1 to 4096 visible ASCII characters.
    PushToken, "must be 1 to 4096 visible ASCII characters",
        |text| (1..=4096).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    /// A Slack incoming webhook; plain http is for loopback only. Whether anything may be posted there, `WebhookHosts` says.
    WebhookUrl, "must be an https URL", is_webhook;
    /// A language tag.
    Locale, "must be a language tag, such as en or it-IT",
        |text| (2..=35).contains(&text.len())
            && text.split('-').all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()));
    /// An IANA time zone.
    TimeZone, "must be an IANA time zone, such as Europe/Rome",
        |text| (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'+' | b'-'));
}

fn is_email(text: &str) -> bool {
    let visible = text.len() <= 254 && text.chars().all(|c| !c.is_control() && !c.is_whitespace());
    let parts = text.rsplit_once('@');
    visible
        && parts.is_some_and(|(local, host)| {
            (1..=64).contains(&local.len())
                && !local.contains(['<', '>', ',', ';', '"', '(', ')', '@'])
                && host.split('.').count() > 1
                && host.split('.').all(|label| !label.is_empty())
                && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-'))
        })
}

fn is_e164(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0')
    })
}

fn is_webhook(text: &str) -> bool {
    text.len() <= 2048 && text.bytes().all(|b| b.is_ascii_graphic()) && crate::webhook::host(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_for_their_shape() {
        for good in ["a@b.it", "first.last+tag@example.com", "ü@example.com"] {
            assert!(is_email(good), "{good}");
        }
        for bad in ["", "a", "@b.it", "a@b", "a b@c.it", "a@b..it", "a@b.it\r\nBcc: c@d.it", "<a@b.it>", "a,b@c.it"] {
            assert!(!is_email(bad), "{bad:?}");
        }
        assert!(is_e164("+390612345678"));
        for bad in ["0612345678", "+", "+0123456789", "+39 06 123", "+1234567890123456"] {
            assert!(!is_e164(bad), "{bad}");
        }
        assert!(is_webhook("https://hooks.example.com/services/a"));
        for bad in ["http://hooks.example.com/", "https://", "ftp://x", "https://a b"] {
            assert!(!is_webhook(bad), "{bad}");
        }
    }

    #[test]
    fn a_preference_names_a_channel_or_all_of_them() {
        let parse = |channel: &str| {
            serde_json::from_value::<Preference>(
                serde_json::json!({"event_type": "*", "channel": channel, "enabled": false}),
            )
        };
        assert_eq!(parse("SMS").expect("a preference").channel, ChannelChoice::One(Channel::Sms));
        assert_eq!(parse("*").expect("a preference").channel, ChannelChoice::Every(Star::Star));
        assert!(parse("FAX").is_err());
    }

    #[test]
    fn a_wish_is_about_a_type_that_somebody_is_told_of() {
        let wish = |event_type: &str| {
            let wish = serde_json::json!({"event_type": event_type, "channel": "*", "enabled": false});
            serde_json::from_value::<Preference>(wish).expect("a preference")
        };
        let routes = Routes::load().expect("routes");
        let wishes = [wish("*"), wish("OrderFailed"), wish("NotificationActed"), wish("Nonsense")];
        let bad = bad_wishes(&wishes, routes);
        let named = |index: usize, name: &str| {
            (format!("preferences[{index}].event_type"), format!("no route knows the type {name}"))
        };
        assert_eq!(bad, [named(2, "NotificationActed"), named(3, "Nonsense")]);
        assert_eq!(bad_wishes(&vec![wish("*"); 101], routes)[0].0, "preferences");
        assert!(bad_wishes(&vec![wish("*"); 100], routes).is_empty());
    }

    #[test]
    fn who_has_gone_to_another_restaurant_belongs_there_and_to_themselves() {
        let recipient = serde_json::json!({
            "user_type": "RESTAURANT_USER", "user_id": "u", "name": "N", "restaurant_id": "new",
        });
        let recipient: Recipient = serde_json::from_value(recipient).expect("a recipient");
        let restaurant = |id: &str| Group::Restaurant(RestaurantId::parse(id).expect("an id"));
        assert!(recipient.belongs_to(&restaurant("new")) && !recipient.belongs_to(&restaurant("old")));
        assert!(recipient.belongs_to(&Group::User(recipient.user_id.clone())) && !recipient.belongs_to(&Group::All));
    }

    #[test]
    fn only_staff_belong_to_a_restaurant_or_an_agency() {
        let details: RecipientDetails =
            serde_json::from_value(serde_json::json!({"name": "N", "restaurant_id": "r"})).expect("details");
        assert!(details.misfits(Audience::RestaurantUser).is_empty());
        assert_eq!(details.misfits(Audience::Customer)[0].0, "restaurant_id");
        assert_eq!(details.misfits(Audience::AgencyUser).len(), 2);
    }
}
