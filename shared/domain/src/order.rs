//! What is told of an order's end: the payloads of `OrderCompleted` and `OrderFailed`.

use serde::{Deserialize, Serialize};

use crate::UserId;
use crate::id::Line;

/// The event type of an order that was paid for.
pub const COMPLETED: &str = "OrderCompleted";
/// The event type of an order that came to nothing.
pub const FAILED: &str = "OrderFailed";

/// An amount in minor units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Money {
    /// How many cents, pence, fils.
    pub amount: u64,
    /// The currency, as ISO 4217 writes it.
    pub currency: String,
}

/// The payload of `OrderCompleted`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OrderCompleted {
    /// The order.
    pub order_id: String,
    /// Whose.
    pub customer_id: UserId,
    /// What was paid.
    pub total: Money,
}

/// The payload of `OrderFailed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OrderFailed {
    /// The order.
    pub order_id: String,
    /// Whose.
    pub customer_id: UserId,
    /// Why.
    pub reason: Line,
}
