//! The payment of one order: an outside effect, so every step is stored before the next is taken.
//!
//! ```text
//! (none) ──the provider has an intent──▶ INTENDED ──it is confirmed──▶ CHARGED ──refund──▶ REFUNDED
//!    │                                      ├──────declined──────────▶ DECLINED
//!    └──cancelled before it began──▶ CLOSED ◀──the intent is cancelled┘
//! ```
//!
//! An intent charges nothing until it is confirmed, and only the one whose id is stored here is ever confirmed: an intent
//! that a crash left behind is never charged. A cancel while the charge is in progress sets `refund_wanted`; whoever records
//! the charge refunds it. The decisions are in [`next`] and [`answered`].

use belfry_core::{Entity, Key, Table};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::order::{IntentId, Money};
use crate::{Time, UserId};

mod protocol;

pub use protocol::{Answer, Asked, Call, Misfit, Next, answered, next};

/// The payment of one order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Payment {
    /// The order.
    pub order_id: Uuid,
    /// The status, and what it knows.
    #[serde(flatten)]
    pub state: PaymentState,
    /// The order was cancelled while the charge was in progress.
    #[serde(default)]
    pub refund_wanted: bool,
    /// When it was last changed.
    pub updated_at: Time,
}

/// The state of a payment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PaymentState {
    /// The provider has an intent, which may be charged at any moment.
    Intended(Intent),
    /// Charged.
    Charged(Intent),
    /// Declined by the provider.
    Declined(Intent),
    /// Charged and refunded.
    Refunded(Intent),
    /// Cancelled before anything was charged. Nothing will be charged.
    Closed,
}

/// What the provider is to charge.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Intent {
    /// The provider's id.
    pub intent_id: IntentId,
    /// The customer who pays.
    pub customer_id: UserId,
    /// The amount.
    pub total: Money,
}

impl Entity for Payment {
    const TABLE: Table = Table::new("payments", "order_id");
    const KIND: &'static str = "Payment";
    type Id<'a> = Uuid;

    fn key(id: Uuid) -> Key {
        id.into()
    }

    fn id(&self) -> Uuid {
        self.order_id
    }
}
