//! The payment of one order: an outside effect, so every step is stored before the next is taken.
//!
//! ```text
//! (none) ──the provider has an intent──▶ INTENDED ──it is confirmed──▶ CHARGED ──refund──▶ REFUNDED
//!    │                                      ├──────declined──────────▶ DECLINED
//!    └──cancelled before it began──▶ CLOSED ◀──the intent is cancelled┘
//! ```
//!
//! An intent charges nothing until it is confirmed, and only the one whose id is stored here is ever confirmed: an intent
//! that a crash left behind stays what it is. A cancel while the charge is under way sets `refund_wanted`; whoever records
//! the charge refunds it.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::order::{IntentId, Money, OrderPaid, OrderValidated, PaymentRefunded};
use crate::{Time, UserId};

/// The payment of one order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// The order.
    pub order_id: Uuid,
    /// Where it stands.
    #[serde(flatten)]
    pub state: PaymentState,
    /// The order was called off while the charge was under way.
    #[serde(default)]
    pub refund_wanted: bool,
    /// When it was changed last.
    pub updated_at: Time,
    /// Grows by one with each change, from 1.
    pub version: u64,
}

/// Where a payment stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PaymentState {
    /// The provider has an intent, and it may be charged at any moment.
    Intended(Intent),
    /// It is charged.
    Charged(Intent),
    /// The provider declined.
    Declined(Intent),
    /// It was charged and is paid back.
    Refunded(Intent),
    /// It was called off before anything was charged, and nothing will be.
    Closed,
}

/// What the provider is to charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The provider's id.
    pub intent_id: IntentId,
    /// Whose money.
    pub customer_id: UserId,
    /// How much.
    pub total: Money,
}

impl Payment {
    /// The payment of a validated order, for which the provider has an intent.
    pub fn intended(validated: &OrderValidated, intent_id: IntentId, now: Time) -> Self {
        let (customer_id, total) = (validated.customer_id.clone(), validated.total.clone());
        let state = PaymentState::Intended(Intent { intent_id, customer_id, total });
        Self { order_id: validated.order_id, state, refund_wanted: false, updated_at: now, version: 1 }
    }

    /// The payment of an order that was called off before anything began.
    pub fn closed(order_id: Uuid, now: Time) -> Self {
        Self { order_id, state: PaymentState::Closed, refund_wanted: false, updated_at: now, version: 1 }
    }

    /// The same in another state.
    #[must_use]
    pub fn becomes(&self, state: PaymentState, now: Time) -> Self {
        Self { state, updated_at: now, version: self.version + 1, ..self.clone() }
    }

    /// The same with the wish to be refunded as soon as it is charged.
    #[must_use]
    pub fn wanting_refund(&self, now: Time) -> Self {
        Self { refund_wanted: true, updated_at: now, version: self.version + 1, ..self.clone() }
    }

    /// A key for one call about this payment: the same however often it is made.
    pub fn key(order_id: Uuid, call: &str) -> String {
        format!("belfry-{order_id}-{call}")
    }
}

impl Intent {
    /// What is reported when it is charged.
    pub fn paid(&self, order_id: Uuid) -> OrderPaid {
        OrderPaid { order_id, customer_id: self.customer_id.clone(), total: self.total.clone() }
    }

    /// What is reported when it is paid back.
    pub fn refunded(&self, order_id: Uuid) -> PaymentRefunded {
        PaymentRefunded { order_id, customer_id: self.customer_id.clone(), total: self.total.clone() }
    }
}
