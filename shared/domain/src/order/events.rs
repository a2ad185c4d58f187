//! What happens in the saga of an order: the event types, and their payloads.

use belfry_core::{Entity, Payload};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{CancelReason, Line, Money, Order, Quantity};
use crate::id::Line as Text;
use crate::payment::Payment;
use crate::stock::Hold;
use crate::{StockKeepingUnit, UserId};

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
    // Published as any text, so that the schema stays as it was committed.
    #[cfg_attr(test, schemars(with = "String"))]
    pub order_id: Uuid,
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
    // Published as any text, so that the schema stays as it was committed.
    #[cfg_attr(test, schemars(with = "String"))]
    pub order_id: Uuid,
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
pub struct StockSold {
    /// The order.
    pub order_id: Uuid,
    /// What was moved.
    pub lines: Vec<PricedLine>,
}

/// The payload of `StockSold` and `StockReleased`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StockReleased {
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

macro_rules! payloads {
    ($($payload:ident of $entity:ident),+ $(,)?) => {$(
        impl Payload for $payload {
            const TYPE: &'static str = stringify!($payload);
            type Of = $entity;

            fn subject(&self) -> <$entity as Entity>::Id<'_> {
                self.order_id
            }
        }
    )+};
}

payloads! {
    OrderPlaced of Order,
    OrderValidated of Hold,
    OrderRejected of Hold,
    OrderPaid of Payment,
    PaymentFailed of Payment,
    OrderCompleted of Order,
    OrderFailed of Order,
    OrderCancelled of Order,
    StockSold of Hold,
    StockReleased of Hold,
    PaymentRefunded of Payment,
}
