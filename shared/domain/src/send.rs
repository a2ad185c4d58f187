//! Channel sends: one notification through one channel, and the states of its way out.
//!
//! ```text
//! PENDING ──claim──▶ PROCESSING ──▶ SENT
//!    ▲                  │ ├───────▶ SKIPPED    (the address is gone, dead or unwanted by now)
//!    ├──── may pass ────┘ ├───────▶ FAILED     (refused, or tried often enough): a dead letter
//!    │                    └───────▶ UNCERTAIN  (nobody knows): tried again, or held for an operator: a dead letter
//!    └── fan-out writes it PENDING, or SKIPPED at once
//! ```
//!
//! Every step is a function of what stands there, the time and the channel's terms: see [`ChannelSend::claim`] and
//! [`ChannelSend::after`].

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::backoff::Backoff;
use crate::notification::Notification;
use crate::recipient::{Channel, Skip};
use crate::{Audience, EventId, Time, Trace, UserId};

mod steps;

pub use steps::{Claim, Ended};

/// How many attempts a send remembers for its story.
const REMEMBERED: usize = 20;

/// Which send, and where everything that it takes is found: the message on a channel's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendOrder {
    /// The event that is told.
    pub event_id: EventId,
    /// The notification.
    pub notification_id: Uuid,
    /// The channel.
    pub channel: Channel,
    /// The recipient's audience.
    pub audience: Audience,
    /// The recipient.
    pub user_id: UserId,
    /// The group whose event notification it tells.
    pub group: String,
}

impl SendOrder {
    /// The send of this notification through this channel.
    pub fn of(notification: &Notification, channel: Channel) -> Self {
        Self {
            event_id: notification.event_id.clone(),
            notification_id: notification.notification_id,
            channel,
            audience: notification.audience,
            user_id: notification.user_id.clone(),
            group: notification.group.clone(),
        }
    }
}

/// One notification through one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelSend {
    /// Which.
    #[serde(flatten)]
    pub order: SendOrder,
    /// The event's type.
    pub event_type: String,
    /// The trace that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Trace>,
    /// When it was written.
    pub created_at: Time,
    /// Where it stands.
    #[serde(flatten)]
    pub state: SendState,
    /// How many attempts have counted.
    pub attempt_count: u32,
    /// How often the provider was out of reach, which does not count.
    #[serde(default)]
    pub postponed: u32,
    /// How often a sweeper has sent for it since it was last tried.
    #[serde(default)]
    pub swept: u32,
    /// The last failure, or why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What was tried, the latest of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// What the provider gave for each address that has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<AddressReceipt>,
    /// The last redrive that opened it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redrive: Option<Uuid>,
    /// Since when outages are borne: when it was written, or opened again.
    pub opened_at: Time,
    /// When a sweeper looks at it, if it is not at its end by then.
    pub due_at: Time,
    /// Grows by one with each change, from 1.
    pub version: u64,
}

/// Where a send stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SendState {
    /// It is to be sent, not before its next retry.
    Pending {
        /// When, after a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_retry_at: Option<Time>,
    },
    /// Somebody is at it.
    Processing {
        /// The claim: unique to it.
        locked_by: Uuid,
        /// Until when it is that claim's alone.
        lease_until: Time,
    },
    /// It was handed over, and nobody knows whether it was sent.
    Uncertain {
        /// When it is sent again; without it, it is held for an operator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_retry_at: Option<Time>,
    },
    /// The provider has taken it over.
    Sent {
        /// When.
        sent_at: Time,
    },
    /// It was given up.
    Failed {
        /// When.
        ended_at: Time,
    },
    /// There was nobody to send it to.
    Skipped {
        /// When.
        ended_at: Time,
    },
}

/// One attempt, as the story tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When it ended.
    pub at: Time,
    /// What came of it, in fixed words: never an address.
    pub outcome: String,
}

/// A provider's receipt for one address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressReceipt {
    /// The address, hashed.
    pub address: String,
    /// Which provider.
    pub provider: String,
    /// Its own id of the message, where it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// When.
    pub at: Time,
}

/// How patiently a channel sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// How long a claim is its owner's alone.
    pub lease: Duration,
    /// How many attempts count before it is FAILED.
    pub max_attempts: u32,
    /// How long outages are borne.
    pub give_up_after: Duration,
    /// What becomes of a send that nobody knows about.
    pub when_uncertain: WhenUncertain,
    /// How long to wait between attempts.
    pub backoff: Backoff,
    /// How long after its time a sweeper looks at a send.
    pub grace: Duration,
}

/// What becomes of a send whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenUncertain {
    /// It is sent again: told twice rather than not at all.
    Resend,
    /// An operator decides: told once or not at all.
    Hold,
}

impl SendState {
    /// The name as it is shown.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "PENDING",
            Self::Processing { .. } => "PROCESSING",
            Self::Uncertain { .. } => "UNCERTAIN",
            Self::Sent { .. } => "SENT",
            Self::Failed { .. } => "FAILED",
            Self::Skipped { .. } => "SKIPPED",
        }
    }

    /// When the send came to its end, if it did. What is held for an operator did not.
    pub fn ended_at(&self) -> Option<Time> {
        match *self {
            Self::Sent { sent_at: at } | Self::Failed { ended_at: at } | Self::Skipped { ended_at: at } => Some(at),
            Self::Pending { .. } | Self::Processing { .. } | Self::Uncertain { .. } => None,
        }
    }

    /// Whether it waits for an operator: a dead letter stands for it.
    pub fn is_given_up(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Uncertain { next_retry_at: None })
    }
}

impl ChannelSend {
    /// A send as the fan-out writes it: PENDING, or SKIPPED where there is a reason to.
    pub fn new(
        (notification, channel): (&Notification, Channel),
        (event_type, traceparent): (&str, Option<&Trace>),
        skip: Option<Skip>,
        (now, grace): (Time, Duration),
    ) -> Self {
        let state = match skip {
            None => SendState::Pending { next_retry_at: None },
            Some(_) => SendState::Skipped { ended_at: now },
        };
        Self {
            order: SendOrder::of(notification, channel),
            event_type: event_type.to_owned(),
            traceparent: traceparent.cloned(),
            created_at: now,
            state,
            attempt_count: 0,
            postponed: 0,
            swept: 0,
            last_error: skip.map(|skip| skip.as_str().to_owned()),
            attempts: Vec::new(),
            receipts: Vec::new(),
            redrive: None,
            opened_at: now,
            due_at: now.plus(grace),
            version: 1,
        }
    }

    /// The key that a provider recognises a repetition by, where it takes one: the same in every attempt.
    pub fn idempotency_key(&self, address: &str) -> String {
        format!("{}/{}/{address}", self.order.notification_id, self.order.channel.as_str())
    }

    /// Whether an address has it already.
    pub fn has_receipt(&self, address: &str) -> bool {
        self.receipts.iter().any(|receipt| receipt.address == address)
    }
}

#[cfg(test)]
mod tests;
