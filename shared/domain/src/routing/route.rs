//! One route: who of an audience hears of an event type, and through which channels.
//!
//! Some of it only the payload can say (whose restaurant, whether there is an agency, what an announcement asks
//! for), so those answers are functions of the payload.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::event_types;
use crate::id::{AgencyId, NotAnId, RestaurantId};
use crate::recipient::Channel;
use crate::{Audience, UserId};

/// Who of one audience hears of one event type, and how.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The event type.
    pub event_type: String,
    /// The audience.
    pub audience: Audience,
    /// Who of the audience.
    pub who: Who,
    /// Where the payload lacks the field that `who` names, nobody is told, and that is no failure.
    #[serde(default)]
    pub optional: bool,
    /// The payload's field that must name the audience, or the route is not taken.
    #[serde(default)]
    pub named_by: Option<String>,
    /// The channels, unless the payload says otherwise: see [`Route::channels_for`].
    pub channels: Vec<Channel>,
    /// It cannot wait: text messages are for such routes alone.
    #[serde(default)]
    pub urgent: bool,
    /// One person's reading marks it read for the whole group.
    #[serde(default)]
    pub shared_read: bool,
    /// It can be acted on.
    #[serde(default)]
    pub actionable: bool,
    /// A source system hands the event in; without it, the type must be one of our own.
    #[serde(default)]
    pub source: bool,
}

/// Who of an audience is meant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Who {
    /// The one user whom this field of the payload names.
    User(String),
    /// The staff of the restaurant that this field of the payload names.
    Restaurant(String),
    /// The users of the agency that this field of the payload names.
    Agency(String),
    /// Everybody; for admins alone.
    All,
    /// Whom an announcement names: `user_id`, else its audience's `restaurant_id` or `agency_id`, else all admins.
    /// Its `channels` and `urgent` are the announcement's own too.
    Announced,
}

/// Who is told, with the payload's answer filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Group {
    /// One user of the audience.
    User(UserId),
    /// A restaurant's staff.
    Restaurant(RestaurantId),
    /// An agency's users.
    Agency(AgencyId),
    /// The whole audience.
    All,
}

impl Group {
    /// The group that such a text names.
    pub fn named(name: &str) -> Option<Self> {
        match name.split_once(':') {
            Some(("user", id)) => UserId::parse(id.to_owned()).ok().map(Self::User),
            Some(("restaurant", id)) => RestaurantId::parse(id.to_owned()).ok().map(Self::Restaurant),
            Some(("agency", id)) => AgencyId::parse(id.to_owned()).ok().map(Self::Agency),
            _ => (name == "all").then_some(Self::All),
        }
    }

    /// The text that names the group within its audience.
    pub fn name(&self) -> String {
        match self {
            Self::User(id) => format!("user:{id}"),
            Self::Restaurant(id) => format!("restaurant:{id}"),
            Self::Agency(id) => format!("agency:{id}"),
            Self::All => "all".to_owned(),
        }
    }
}

/// A payload does not say what its route needs to know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("payload field {field} {problem}")]
pub struct BadField {
    /// The field.
    pub field: String,
    /// What is wrong with it; never its value.
    pub problem: String,
}

impl Route {
    /// Whether the route is taken for this payload.
    pub fn concerns(&self, payload: &Value) -> bool {
        let named = |field: &String| payload.get(field).and_then(Value::as_str) == Some(self.audience.as_str());
        self.named_by.as_ref().is_none_or(named) && !self.is_for_nobody(payload)
    }

    /// Who is told; nobody where the route is optional and the payload lacks its field.
    pub fn group(&self, payload: &Value) -> Result<Option<Group>, BadField> {
        if self.is_for_nobody(payload) {
            return Ok(None);
        }
        let group = match &self.who {
            Who::User(field) => Group::User(id(payload, field, UserId::parse)?),
            Who::Restaurant(field) => Group::Restaurant(id(payload, field, RestaurantId::parse)?),
            Who::Agency(field) => Group::Agency(id(payload, field, AgencyId::parse)?),
            Who::All => Group::All,
            Who::Announced => self.announced(payload)?,
        };
        Ok(Some(group))
    }

    /// The channels to send through for this payload: no text message unless it is urgent.
    pub fn channels_for(&self, payload: &Value) -> Result<BTreeSet<Channel>, BadField> {
        let mut channels = match self.asked(payload, "channels") {
            Some(list) => parse_channels(list).ok_or_else(|| bad("channels", "must list EMAIL, SMS, PUSH or SLACK"))?,
            None => self.channels.iter().copied().collect(),
        };
        if !self.is_urgent(payload)? {
            channels.remove(&Channel::Sms);
        }
        Ok(channels)
    }

    /// Whether it cannot wait.
    pub fn is_urgent(&self, payload: &Value) -> Result<bool, BadField> {
        match self.asked(payload, "urgent") {
            Some(asked) => asked.as_bool().ok_or_else(|| bad("urgent", "must be true or false")),
            None => Ok(self.urgent),
        }
    }

    /// Every channel that [`Route::channels_for`] may name, whatever the payload.
    pub fn possible_channels(&self) -> &[Channel] {
        if self.who == Who::Announced { &Channel::SENT } else { &self.channels }
    }

    /// What an announcement says for itself where other events go by their route.
    fn asked<'a>(&self, payload: &'a Value, field: &str) -> Option<&'a Value> {
        if self.who == Who::Announced { present(payload, field) } else { None }
    }

    fn is_for_nobody(&self, payload: &Value) -> bool {
        self.optional
            && match &self.who {
                Who::User(field) | Who::Restaurant(field) | Who::Agency(field) => present(payload, field).is_none(),
                Who::All | Who::Announced => false,
            }
    }

    fn announced(&self, payload: &Value) -> Result<Group, BadField> {
        // A group of another audience: told to "all admins" it would reach many more than were meant.
        for (field, audience) in [("restaurant_id", Audience::RestaurantUser), ("agency_id", Audience::AgencyUser)] {
            if present(payload, field).is_some() && self.audience != audience {
                return Err(bad(field, "is not for this audience"));
            }
        }
        if present(payload, "user_id").is_some() {
            return Ok(Group::User(id(payload, "user_id", UserId::parse)?));
        }
        match self.audience {
            Audience::Customer => Err(bad("user_id", "is missing")),
            Audience::RestaurantUser => Ok(Group::Restaurant(id(payload, "restaurant_id", RestaurantId::parse)?)),
            Audience::AgencyUser => Ok(Group::Agency(id(payload, "agency_id", AgencyId::parse)?)),
            Audience::AdminUser => Ok(Group::All),
        }
    }

    /// What does not fit together in the route, if anything.
    pub(super) fn misfit(&self) -> Option<&'static str> {
        let own = event_types::own(&self.event_type);
        let announced = self.who == Who::Announced;
        let listed: BTreeSet<&Channel> = self.channels.iter().collect();
        let rules = [
            (own && self.source, "is an event type of our own, no source may hand it in"),
            (!own && !self.source, "is no event type of our own; what a source hands in says source = true"),
            (self.who == Who::All && self.audience != Audience::AdminUser, "who = \"all\" is for ADMIN_USER alone"),
            (
                matches!(self.who, Who::Restaurant(_)) && self.audience != Audience::RestaurantUser,
                "a restaurant's staff are RESTAURANT_USER",
            ),
            (
                matches!(self.who, Who::Agency(_)) && self.audience != Audience::AgencyUser,
                "an agency's users are AGENCY_USER",
            ),
            (announced && self.named_by.is_none(), "who = \"announced\" needs named_by"),
            (
                self.optional && matches!(self.who, Who::All | Who::Announced),
                "optional needs a field that can be absent",
            ),
            (listed.contains(&Channel::Websocket), "WEBSOCKET is direct, it is never listed"),
            (listed.len() < self.channels.len(), "a channel is listed twice"),
            (listed.contains(&Channel::Sms) && !self.urgent && !announced, "SMS is for urgent routes alone"),
        ];
        rules.into_iter().find_map(|(broken, problem)| broken.then_some(problem))
    }
}

/// A field that is there; null is as good as absent.
fn present<'a>(payload: &'a Value, field: &str) -> Option<&'a Value> {
    payload.get(field).filter(|value| !value.is_null())
}

fn id<T>(payload: &Value, field: &str, parse: fn(String) -> Result<T, NotAnId>) -> Result<T, BadField> {
    let value = present(payload, field).ok_or_else(|| bad(field, "is missing"))?;
    let text = value.as_str().ok_or_else(|| bad(field, "must be text"))?;
    parse(text.to_owned()).map_err(|error| bad(field, &error.to_string()))
}

fn parse_channels(list: &Value) -> Option<BTreeSet<Channel>> {
    let channels = BTreeSet::<Channel>::deserialize(list).ok()?;
    channels.iter().all(|channel| Channel::SENT.contains(channel)).then_some(channels)
}

fn bad(field: &str, problem: &str) -> BadField {
    BadField { field: field.to_owned(), problem: problem.to_owned() }
}
