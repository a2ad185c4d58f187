//! Announcements: the one event that a source system words itself, the payload of `Announcement`.
//!
//! The door refuses with what [`Announcement::parse`] says; behind it, the fan-out parses the same payload again and
//! finds whom to tell.

use serde::Deserialize;
use serde_json::Value;

use crate::id::{AgencyId, RestaurantId};
use crate::recipient::{Channel, Misfit};
use crate::{Audience, UserId};

/// The event type of an announcement.
pub const ANNOUNCEMENT: &str = "Announcement";

const LONGEST_TITLE: usize = 200;
const LONGEST_BODY: usize = 4000;

/// A text that a source system wants told, and those it is for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(with = "Fields"))]
#[serde(try_from = "Fields")]
pub struct Announcement {
    title: String,
    body: String,
    to: Addressees,
    channels: Option<Vec<Channel>>,
    urgent: bool,
}

/// Those an announcement is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addressees {
    /// One user of this audience.
    User(Audience, UserId),
    /// The staff of a restaurant.
    Restaurant(RestaurantId),
    /// The users of an agency.
    Agency(AgencyId),
    /// All admins.
    Admins,
}

/// The payload is no announcement: each field that is wrong, by its path in the event, and the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(|(field, problem)| format!("{field}: {problem}")).collect::<Vec<_>>().join("; "))]
pub struct NotAnAnnouncement(pub Vec<(String, String)>);

impl Announcement {
    /// Reads the payload of an event of type [`ANNOUNCEMENT`].
    pub fn parse(payload: &Value) -> Result<Self, NotAnAnnouncement> {
        let fields: Fields = serde_path_to_error::deserialize(payload).map_err(|error| {
            let path = error.path().to_string();
            let field = if path == "." { "payload".to_owned() } else { format!("payload.{path}") };
            NotAnAnnouncement(vec![(field, error.into_inner().to_string())])
        })?;
        fields.try_into()
    }

    /// One line of 1 to 200 characters.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// 1 to 4000 characters, on as many lines as it takes.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Whom to tell.
    pub fn to(&self) -> &Addressees {
        &self.to
    }

    /// The channels to use, none of them twice; without any said, the route's.
    pub fn channels(&self) -> Option<&[Channel]> {
        self.channels.as_deref()
    }

    /// Whether it may disturb.
    pub fn urgent(&self) -> bool {
        self.urgent
    }
}

impl Addressees {
    /// The audience that they belong to.
    pub fn audience(&self) -> Audience {
        match self {
            Self::User(audience, _) => *audience,
            Self::Restaurant(_) => Audience::RestaurantUser,
            Self::Agency(_) => Audience::AgencyUser,
            Self::Admins => Audience::AdminUser,
        }
    }
}

/// The payload as it is written.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Fields {
    /// One line.
    #[cfg_attr(test, schemars(length(min = 1, max = LONGEST_TITLE)))]
    title: String,
    /// Plain text, of any number of lines.
    #[cfg_attr(test, schemars(length(min = 1, max = LONGEST_BODY)))]
    body: String,
    /// Who is told: the one user of it, or the group of it, that the ids name; of ADMIN_USER all, where none is named.
    audience: Audience,
    /// The one user to tell; CUSTOMER must have it.
    user_id: Option<UserId>,
    /// The restaurant whose staff to tell, for RESTAURANT_USER in place of a user_id.
    restaurant_id: Option<RestaurantId>,
    /// The agency whose users to tell, for AGENCY_USER in place of a user_id.
    agency_id: Option<AgencyId>,
    /// The channels to use, none of them twice, in place of those that the route names; an empty list leaves the inbox.
    #[cfg_attr(test, schemars(with = "Option<Vec<Sent>>", extend("uniqueItems" = true)))]
    channels: Option<Vec<Channel>>,
    /// Whether it may disturb: SMS goes out only when it may.
    #[serde(default)]
    urgent: bool,
}

/// A way to reach somebody.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(dead_code, reason = "only its schema is needed: that of Channel, without the one that has no sends")]
enum Sent {
    /// E-mail.
    Email,
    /// Text message.
    Sms,
    /// Push to a phone or browser.
    Push,
    /// Slack webhook.
    Slack,
}

impl TryFrom<Fields> for Announcement {
    type Error = NotAnAnnouncement;

    fn try_from(fields: Fields) -> Result<Self, NotAnAnnouncement> {
        let mut misfits = Vec::new();
        let mut check = |fits: bool, field: &str, problem: &str| {
            if !fits {
                misfits.push((format!("payload.{field}"), problem.to_owned()));
            }
        };
        check(is_title(&fields.title), "title", "must be 1 to 200 characters on one line");
        check(is_body(&fields.body), "body", "must be 1 to 4000 characters, none of them a control");
        let twice = |channels: &Vec<Channel>| (1..channels.len()).any(|i| channels[..i].contains(&channels[i]));
        check(!fields.channels.as_ref().is_some_and(twice), "channels", "must not name a channel twice");
        let is_sent = |channels: &Vec<Channel>| channels.iter().all(|channel| Channel::SENT.contains(channel));
        let all_sent = fields.channels.as_ref().is_none_or(is_sent);
        check(all_sent, "channels", "must be of EMAIL, SMS, PUSH and SLACK: who has a live socket is told anyhow");
        let to = addressees(fields.audience, fields.user_id, fields.restaurant_id, fields.agency_id);
        if let Err((field, problem)) = to {
            check(false, field, problem);
        }
        match to {
            Ok(to) if misfits.is_empty() => {
                let Fields { title, body, channels, urgent, .. } = fields;
                Ok(Self { title, body, to, channels, urgent })
            }
            _ => Err(NotAnAnnouncement(misfits)),
        }
    }
}

fn addressees(
    audience: Audience,
    user_id: Option<UserId>,
    restaurant_id: Option<RestaurantId>,
    agency_id: Option<AgencyId>,
) -> Result<Addressees, Misfit> {
    use Audience::{AdminUser, AgencyUser, Customer, RestaurantUser};
    match (audience, user_id, restaurant_id, agency_id) {
        (_, Some(user_id), None, None) => Ok(Addressees::User(audience, user_id)),
        (RestaurantUser, None, Some(restaurant_id), None) => Ok(Addressees::Restaurant(restaurant_id)),
        (AgencyUser, None, None, Some(agency_id)) => Ok(Addressees::Agency(agency_id)),
        (AdminUser, None, None, None) => Ok(Addressees::Admins),
        (Customer, None, None, None) => Err(("user_id", "CUSTOMER must have one")),
        (RestaurantUser, None, None, None) => Err(("restaurant_id", "RESTAURANT_USER must have one, or a user_id")),
        (AgencyUser, None, None, None) => Err(("agency_id", "AGENCY_USER must have one, or a user_id")),
        (RestaurantUser, Some(_), Some(_), _) => Err(("restaurant_id", "must not stand beside a user_id")),
        (AgencyUser, Some(_), _, Some(_)) => Err(("agency_id", "must not stand beside a user_id")),
        (Customer | AgencyUser | AdminUser, _, Some(_), _) => {
            Err(("restaurant_id", "only RESTAURANT_USER may have one"))
        }
        (Customer | RestaurantUser | AdminUser, _, _, Some(_)) => Err(("agency_id", "only AGENCY_USER may have one")),
    }
}

fn is_title(text: &str) -> bool {
    (1..=LONGEST_TITLE).contains(&text.chars().count())
        && !text.trim().is_empty()
        && !text.chars().any(char::is_control)
}

fn is_body(text: &str) -> bool {
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    (1..=LONGEST_BODY).contains(&text.chars().count()) && !text.trim().is_empty() && !text.chars().any(control)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A payload with this in place of what is there or missing.
    fn with(fields: Value) -> Value {
        let mut payload = json!({"title": "Closed", "body": "On Monday.", "audience": "ADMIN_USER"});
        let object = payload.as_object_mut().expect("an object");
        object.extend(fields.as_object().expect("an object").clone());
        payload
    }

    fn problems(fields: Value) -> Vec<String> {
        let NotAnAnnouncement(misfits) = Announcement::parse(&with(fields)).expect_err("a refusal");
        misfits.into_iter().map(|(field, _)| field).collect()
    }

    #[test]
    fn each_audience_is_addressed_in_the_ways_that_it_can_be() {
        let user = |audience| Addressees::User(audience, UserId::parse("u").expect("an id"));
        let cases = [
            (json!({"audience": "CUSTOMER", "user_id": "u"}), user(Audience::Customer)),
            (json!({"audience": "RESTAURANT_USER", "user_id": "u"}), user(Audience::RestaurantUser)),
            (
                json!({"audience": "RESTAURANT_USER", "restaurant_id": "r"}),
                Addressees::Restaurant(RestaurantId::parse("r").expect("an id")),
            ),
            (json!({"audience": "AGENCY_USER", "user_id": "u"}), user(Audience::AgencyUser)),
            (
                json!({"audience": "AGENCY_USER", "agency_id": "a"}),
                Addressees::Agency(AgencyId::parse("a").expect("an id")),
            ),
            (json!({"audience": "ADMIN_USER", "user_id": "u"}), user(Audience::AdminUser)),
            (json!({"audience": "ADMIN_USER"}), Addressees::Admins),
        ];
        for (fields, to) in cases {
            let announcement = Announcement::parse(&with(fields.clone())).expect("an announcement");
            assert_eq!(announcement.to(), &to);
            assert_eq!(json!(announcement.to().audience()), fields["audience"]);
        }
    }

    #[test]
    fn whom_an_audience_cannot_be_addressed_by_is_refused_by_name() {
        for (audience, ids, field) in [
            ("CUSTOMER", "", "user_id"),
            ("CUSTOMER", "r", "restaurant_id"),
            ("CUSTOMER", "ua", "agency_id"),
            ("RESTAURANT_USER", "", "restaurant_id"),
            ("RESTAURANT_USER", "ur", "restaurant_id"),
            ("RESTAURANT_USER", "a", "agency_id"),
            ("RESTAURANT_USER", "ra", "agency_id"),
            ("AGENCY_USER", "", "agency_id"),
            ("AGENCY_USER", "ua", "agency_id"),
            ("AGENCY_USER", "r", "restaurant_id"),
            ("ADMIN_USER", "ur", "restaurant_id"),
            ("ADMIN_USER", "a", "agency_id"),
        ] {
            let id = |letter: char| ids.contains(letter).then_some("x");
            let fields = json!({
                "audience": audience, "user_id": id('u'), "restaurant_id": id('r'), "agency_id": id('a'),
            });
            assert_eq!(problems(fields), [format!("payload.{field}")], "{audience} by {ids:?}");
        }
    }

    #[test]
    fn what_is_left_out_is_the_routes_to_choose_and_not_urgent() {
        let plain = Announcement::parse(&with(json!({}))).expect("an announcement");
        assert_eq!((plain.channels(), plain.urgent()), (None, false));
        let said = json!({"channels": ["SMS", "EMAIL"], "urgent": true});
        let said = Announcement::parse(&with(said)).expect("an announcement");
        assert_eq!((said.channels(), said.urgent()), (Some(&[Channel::Sms, Channel::Email][..]), true));
    }

    #[test]
    fn texts_are_counted_in_characters_to_the_last_one() {
        let fields = json!({"title": "ü".repeat(200), "body": format!("{}\n", "予".repeat(3999))});
        assert!(Announcement::parse(&with(fields)).is_ok());
        for title in ["", " ", "two\nlines", &"x".repeat(201)] {
            assert_eq!(problems(json!({"title": title})), ["payload.title"], "{title:?}");
        }
        for body in ["", "\n", "a\u{0}b", &"x".repeat(4001)] {
            assert_eq!(problems(json!({"body": body})), ["payload.body"], "{body:.10?}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let fields = json!({"title": "", "body": "", "channels": ["SMS", "SMS"], "agency_id": "a"});
        assert_eq!(problems(fields), ["payload.title", "payload.body", "payload.channels", "payload.agency_id"]);
    }

    #[test]
    fn a_channel_without_sends_is_refused_as_the_route_would() {
        assert_eq!(problems(json!({"channels": ["EMAIL", "WEBSOCKET"]})), ["payload.channels"]);
        let all = json!({"channels": Channel::SENT});
        assert!(Announcement::parse(&with(all)).is_ok());
    }

    #[test]
    fn what_has_not_even_the_shape_is_refused_with_its_path() {
        assert_eq!(problems(json!({"channels": ["SMS", "FAX"]})), ["payload.channels[1]"]);
        assert_eq!(problems(json!({"user_id": "a b"})), ["payload.user_id"]);
        assert_eq!(problems(json!({"unknown": 1})), ["payload.unknown"]);
        assert_eq!(problems(json!({"title": null})), ["payload.title"]);
        let refused = Announcement::parse(&json!({"title": "t", "body": "b"})).expect_err("a refusal");
        assert_eq!(refused.to_string(), "payload: missing field `audience`");
        assert!(Announcement::parse(&json!([])).is_err());
    }
}
