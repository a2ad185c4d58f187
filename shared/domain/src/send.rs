//! Channel sends: one notification through one channel, and its states.
//!
//! ```text
//! PENDING ──claim──▶ PROCESSING ──▶ SENT
//!    ▲                  │ ├───────▶ SKIPPED    (the address is gone or dead, or the recipient opted out)
//!    ├─── transient ────┘ ├───────▶ FAILED     (refused, or too many attempts): a dead letter
//!    │                    └───────▶ UNCERTAIN  (outcome unknown): retried, or held for an operator: a dead letter
//!    └── the fan-out writes it PENDING, or SKIPPED at once
//! ```
//!
//! Each transition is a pure function of the send, the time and the channel's [`DeliveryPolicy`]: see
//! [`ChannelSend::claim`] and [`ChannelSend::after`].

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::backoff::Backoff;
use crate::notification::Notification;
use crate::recipient::{Channel, Skip};
use crate::{Audience, EventId, Time, Trace, UserId};

mod steps;
mod stored;

pub use steps::{AttemptOutcome, Claim};
pub use stored::{DUE, SendDuePartition};

/// How many attempts a send remembers.
const REMEMBERED: usize = 20;

/// Identifies a send, and everything that delivering it reads. It is also the body of a delivery job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendId {
    /// The event.
    pub event_id: EventId,
    /// The notification.
    pub notification_id: Uuid,
    /// The channel.
    pub channel: Channel,
    /// The recipient's audience.
    pub audience: Audience,
    /// The recipient.
    pub user_id: UserId,
    /// The group of the event notification.
    pub group: String,
}

impl SendId {
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
    /// Its id.
    #[serde(flatten)]
    pub id: SendId,
    /// The event's type.
    pub event_type: String,
    /// The trace that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Trace>,
    /// When the fan-out wrote it.
    pub created_at: Time,
    /// Its state.
    #[serde(flatten)]
    pub state: SendState,
    /// How many attempts have counted.
    pub attempt_count: u32,
    /// How often the provider was unavailable, which does not count.
    #[serde(default)]
    pub postponed: u32,
    /// How often a sweeper has enqueued it again since the last attempt.
    #[serde(default)]
    pub swept: u32,
    /// The last failure, or why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The latest attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// The provider's receipt for each address that was reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<AddressReceipt>,
    /// The last redrive that opened it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redrive: Option<Uuid>,
    /// The start of the time that outages may take: when it was written, or reopened.
    pub opened_at: Time,
    /// When a sweeper looks at it, if it has not ended by then.
    pub due_at: Time,
}

/// The state of a send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SendState {
    /// Waits to be sent.
    Pending {
        /// Not before this time, after a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_retry_at: Option<Time>,
    },
    /// Claimed by a worker.
    Processing {
        /// The id of the claim.
        locked_by: Uuid,
        /// When the lease ends.
        lease_until: Time,
    },
    /// Handed to the provider; the outcome is unknown.
    Uncertain {
        /// When it is sent again. `None` holds it for an operator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_retry_at: Option<Time>,
    },
    /// The provider accepted it.
    Sent {
        /// When.
        sent_at: Time,
    },
    /// Given up.
    Failed {
        /// When.
        ended_at: Time,
    },
    /// There was no address to send it to.
    Skipped {
        /// When.
        ended_at: Time,
    },
}

/// One attempt, as the event story shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When it ended.
    pub at: Time,
    /// Its outcome. Never contains an address.
    pub outcome: String,
}

/// A provider's receipt for one address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressReceipt {
    /// The address, hashed.
    pub address: String,
    /// Which provider.
    pub provider: String,
    /// The provider's id of the message, if it returned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// When.
    pub at: Time,
}

/// How a channel claims, retries and gives up sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeliveryPolicy {
    /// How long a claim lasts.
    pub lease: Duration,
    /// How many attempts count before it is FAILED.
    pub max_attempts: u32,
    /// How long outages of the provider may last before it is FAILED.
    pub give_up_after: Duration,
    /// What becomes of a send whose outcome is unknown.
    pub when_uncertain: WhenUncertain,
    /// The waits between attempts.
    pub backoff: Backoff,
    /// How long after its due time a sweeper looks at a send.
    pub grace: Duration,
}

/// What becomes of a send whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenUncertain {
    /// It is sent again. The recipient may get it twice.
    Resend,
    /// It waits for an operator. The recipient gets it at most once.
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

    /// When the send ended, if it has. A send that is held for an operator has not.
    pub fn ended_at(&self) -> Option<Time> {
        match *self {
            Self::Sent { sent_at: at } | Self::Failed { ended_at: at } | Self::Skipped { ended_at: at } => Some(at),
            Self::Pending { .. } | Self::Processing { .. } | Self::Uncertain { .. } => None,
        }
    }

    /// Whether it waits for an operator and has a dead letter.
    pub fn is_given_up(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Uncertain { next_retry_at: None })
    }
}

impl ChannelSend {
    /// A send as the fan-out writes it: PENDING, or SKIPPED for this reason.
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
            id: SendId::of(notification, channel),
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
        }
    }

    /// The idempotency key for the provider: the same in every attempt.
    pub fn idempotency_key(&self, address: &str) -> String {
        format!("{}/{}/{address}", self.id.notification_id, self.id.channel.as_str())
    }

    /// Whether this address was reached already.
    pub fn has_receipt(&self, address: &str) -> bool {
        self.receipts.iter().any(|receipt| receipt.address == address)
    }
}

#[cfg(test)]
mod tests;
