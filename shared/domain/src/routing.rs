//! Routing as data: which audiences hear of which event, and which queues therefore get it.
//!
//! The relay asks [`Routes::queues`], the fan-out asks [`Routes::route`]; both read the one reviewed file
//! `routing.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use belfry_core::{Message, Step};
use serde::Deserialize;
use serde_json::Value;

use crate::recipient::Channel;
use crate::stock::ReserveStock;
use crate::{Audience, dead_letter, order, payment};

pub use route::{BadField, Group, Route, Who};

mod route;

/// All routes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routes {
    route: Vec<Route>,
}

/// A consumer's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// The fan-out's queue for one audience.
    Fanout(Audience),
    /// The queue of what operators redrive.
    Redrives,
    /// The queue of the saga's inventory.
    Inventory,
    /// The queue of the saga's payments.
    Payment,
    /// The queue of what orders hear from the others.
    Order,
    /// The queue of one channel's sends; of those that have any, [`Channel::SENT`].
    Deliver(Channel),
}

/// What consumers other than the fan-out subscribe to, as they declare it.
const SUBSCRIPTIONS: [(&[&str], Queue); 6] = [
    (&[dead_letter::REDRIVEN, dead_letter::REDRIVE_REQUESTED], Queue::Redrives),
    (<ReserveStock as Step>::Do::TYPES, Queue::Inventory),
    (<ReserveStock as Step>::Undo::TYPES, Queue::Inventory),
    (<ReserveStock as Step>::Settle::TYPES, Queue::Inventory),
    (payment::Asked::TYPES, Queue::Payment),
    (order::News::TYPES, Queue::Order),
];

impl Queue {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Fanout(Audience::Customer),
        Self::Fanout(Audience::RestaurantUser),
        Self::Fanout(Audience::AgencyUser),
        Self::Fanout(Audience::AdminUser),
        Self::Redrives,
        Self::Inventory,
        Self::Payment,
        Self::Order,
        Self::Deliver(Channel::Email),
        Self::Deliver(Channel::Sms),
        Self::Deliver(Channel::Push),
        Self::Deliver(Channel::Slack),
    ];

    /// Its name, which the name of its resource ends with.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fanout(Audience::Customer) => "fanout-customer",
            Self::Fanout(Audience::RestaurantUser) => "fanout-restaurant-user",
            Self::Fanout(Audience::AgencyUser) => "fanout-agency-user",
            Self::Fanout(Audience::AdminUser) => "fanout-admin-user",
            Self::Redrives => "redrives",
            Self::Inventory => "inventory",
            Self::Payment => "payment",
            Self::Order => "order",
            Self::Deliver(Channel::Email) => "deliver-email",
            Self::Deliver(Channel::Sms) => "deliver-sms",
            Self::Deliver(Channel::Push) => "deliver-push",
            Self::Deliver(Channel::Slack) => "deliver-slack",
            Self::Deliver(Channel::Websocket) => "deliver-websocket",
        }
    }

    /// The queue of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|queue| queue.name() == name)
    }

    /// The consumer behind it, as its processed marks and dead letters name it.
    pub fn consumer(self) -> String {
        match self {
            Self::Fanout(audience) => format!("fanout:{audience}"),
            Self::Redrives | Self::Inventory | Self::Payment | Self::Order => self.name().to_owned(),
            Self::Deliver(channel) => format!("deliver:{}", channel.as_str()),
        }
    }

    /// The variable that holds the queue's URL.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Fanout(Audience::Customer) => "BELFRY_FANOUT_CUSTOMER_QUEUE_URL",
            Self::Fanout(Audience::RestaurantUser) => "BELFRY_FANOUT_RESTAURANT_USER_QUEUE_URL",
            Self::Fanout(Audience::AgencyUser) => "BELFRY_FANOUT_AGENCY_USER_QUEUE_URL",
            Self::Fanout(Audience::AdminUser) => "BELFRY_FANOUT_ADMIN_USER_QUEUE_URL",
            Self::Redrives => "BELFRY_REDRIVES_QUEUE_URL",
            Self::Inventory => "BELFRY_INVENTORY_QUEUE_URL",
            Self::Payment => "BELFRY_PAYMENT_QUEUE_URL",
            Self::Order => "BELFRY_ORDER_QUEUE_URL",
            Self::Deliver(Channel::Email) => "BELFRY_DELIVER_EMAIL_QUEUE_URL",
            Self::Deliver(Channel::Sms) => "BELFRY_DELIVER_SMS_QUEUE_URL",
            Self::Deliver(Channel::Push) => "BELFRY_DELIVER_PUSH_QUEUE_URL",
            Self::Deliver(Channel::Slack) => "BELFRY_DELIVER_SLACK_QUEUE_URL",
            Self::Deliver(Channel::Websocket) => "BELFRY_DELIVER_WEBSOCKET_QUEUE_URL",
        }
    }

    /// Whether a deployment may do without it: one without payments does.
    pub fn is_optional(self) -> bool {
        self == Self::Payment
    }

    /// The message attributes that an event with this payload has on this queue beside those of every event: messages to
    /// audience queues name the recipient type and group.
    pub fn attributes(self, payload: &Value) -> BTreeMap<String, String> {
        let Some(audience) = self.audience() else { return BTreeMap::new() };
        let group = |name: &str| {
            let id = payload.get(name)?.as_str().filter(|id| !id.is_empty())?;
            Some((name.to_owned(), id.to_owned()))
        };
        let groups = ["restaurant_id", "agency_id"].into_iter().filter_map(group);
        [("recipient_type".to_owned(), audience.to_string())].into_iter().chain(groups).collect()
    }

    /// The audience, where the queue belongs to one.
    pub fn audience(self) -> Option<Audience> {
        match self {
            Self::Fanout(audience) => Some(audience),
            Self::Redrives | Self::Inventory | Self::Payment | Self::Order | Self::Deliver(_) => None,
        }
    }
}

/// The routing file cannot be read, or says what cannot be meant.
#[derive(Debug, thiserror::Error)]
pub enum BadRouting {
    /// Not the shape of a routing file; the message names the line.
    #[error("routing.toml: {0}")]
    Unreadable(#[from] toml::de::Error),
    /// Two routes for the same event type and audience.
    #[error("routing.toml: {event_type} is routed to {audience} twice")]
    Twice {
        /// The event type.
        event_type: String,
        /// The audience.
        audience: Audience,
    },
    /// A route that does not fit together.
    #[error("routing.toml: {event_type} to {audience}: {problem}")]
    Misfit {
        /// The event type.
        event_type: String,
        /// The audience.
        audience: Audience,
        /// What does not fit.
        problem: &'static str,
    },
}

static ROUTES: LazyLock<Result<Routes, BadRouting>> = LazyLock::new(|| Routes::parse(include_str!("../routing.toml")));

impl Routes {
    /// The routes of this build, read once.
    pub fn load() -> Result<&'static Self, &'static BadRouting> {
        ROUTES.as_ref()
    }

    /// Reads a routing file.
    pub fn parse(file: &str) -> Result<Self, BadRouting> {
        let routes: Self = toml::from_str(file)?;
        let mut seen = BTreeSet::new();
        for route in &routes.route {
            let (event_type, audience) = (route.event_type.clone(), route.audience);
            if !seen.insert((&route.event_type, audience)) {
                return Err(BadRouting::Twice { event_type, audience });
            }
            if let Some(problem) = route.misfit() {
                return Err(BadRouting::Misfit { event_type, audience, problem });
            }
        }
        Ok(routes)
    }

    /// How this audience hears of this event type, if it does.
    pub fn route(&self, event_type: &str, audience: Audience) -> Option<&Route> {
        self.route.iter().find(|route| route.event_type == event_type && route.audience == audience)
    }

    /// Whether anybody hears of this event type.
    pub fn knows(&self, event_type: &str) -> bool {
        self.route.iter().any(|route| route.event_type == event_type)
    }

    /// The queues that are subscribed to this event; its payload decides where a route leaves that open.
    pub fn queues(&self, event_type: &str, payload: &Value) -> impl Iterator<Item = Queue> {
        let told = self.route.iter().filter(move |route| route.event_type == event_type && route.concerns(payload));
        let subscribed = SUBSCRIPTIONS.into_iter().filter(move |(types, _)| types.contains(&event_type));
        told.map(|route| Queue::Fanout(route.audience)).chain(subscribed.map(|(_, queue)| queue))
    }

    /// Every queue that is subscribed to anything.
    pub fn all_queues(&self) -> BTreeSet<Queue> {
        let told = self.route.iter().map(|route| Queue::Fanout(route.audience));
        told.chain(SUBSCRIPTIONS.map(|(_, queue)| queue)).collect()
    }

    /// Every route, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.route.iter()
    }
}

#[cfg(test)]
mod tests;
