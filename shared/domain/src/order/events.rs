//! What happens in the saga of an order: the event types, and their payloads.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{CancelReason, Line, Money, Quantity};
use crate::id::Line as Text;
use crate::{StockKeepingUnit, UserId};

/// Somebody wants something.
pub const PLACED: &str = "OrderPlaced";
/// Every line is reserved, and the price is fixed.
pub const VALIDATED: &str = "OrderValidated";
/// Not every line could be.
pub const REJECTED: &str = "OrderRejected";
/// The payment was charged.
pub const PAID: &str = "OrderPaid";
/// The payment was declined.
pub const PAYMENT_FAILED: &str = "PaymentFailed";
/// The order was paid for.
pub const COMPLETED: &str = "OrderCompleted";
/// The order came to nothing.
pub const FAILED: &str = "OrderFailed";
/// The order was called off.
pub const CANCELLED: &str = "OrderCancelled";
/// What was reserved is sold.
pub const SOLD: &str = "StockSold";
/// What was reserved is free again.
pub const RELEASED: &str = "StockReleased";
/// What was charged is paid back.
pub const REFUNDED: &str = "PaymentRefunded";

/// The payload of `OrderPlaced`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OrderPlaced {
    /// The order.
    pub order_id: Uuid,
    /// Whose.
    pub customer_id: UserId,
    /// What they want.
    pub lines: Vec<Line>,
}

/// A line with the price that the inventory has fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PricedLine {
    /// The unit.
    pub stock_keeping_unit: StockKeepingUnit,
    /// How many.
    pub quantity: Quantity,
    /// What one of them costs, in minor units.
    pub unit_price: u64,
}

/// The payload of `OrderValidated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OrderValidated {
    /// The order.
    pub order_id: Uuid,
    /// Whose.
    pub customer_id: UserId,
    /// What is reserved.
    pub lines: Vec<PricedLine>,
    /// What it costs.
    pub total: Money,
}

/// The payload of `OrderRejected`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OrderRejected {
    /// The order.
    pub order_id: Uuid,
    /// Whose.
    pub customer_id: UserId,
    /// Why.
    pub reason: Text,
}

/// The payload of `OrderPaid`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OrderPaid {
    /// The order.
    pub order_id: Uuid,
    /// Whose.
    pub customer_id: UserId,
    /// What was charged.
    pub total: Money,
}

/// The payload of `PaymentFailed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PaymentFailed {
    /// The order.
    pub order_id: Uuid,
    /// Whose.
    pub customer_id: UserId,
    /// Why.
    pub reason: Text,
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
    pub reason: Text,
}

/// The payload of `OrderCancelled`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OrderCancelled {
    /// The order.
    pub order_id: Uuid,
    /// Whose.
    pub customer_id: UserId,
    /// Why.
    pub reason: CancelReason,
}

/// The payload of `StockSold` and `StockReleased`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StockMoved {
    /// The order.
    pub order_id: Uuid,
    /// What was moved.
    pub lines: Vec<PricedLine>,
}

/// The payload of `PaymentRefunded`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PaymentRefunded {
    /// The order.
    pub order_id: Uuid,
    /// Whose.
    pub customer_id: UserId,
    /// What was paid back.
    pub total: Money,
}
