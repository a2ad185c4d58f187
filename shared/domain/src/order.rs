//! Orders: what a customer asks for, its status, and a log of the steps of its saga.
//!
//! ```text
//! PLACED ──OrderValidated──▶ VALIDATED ──OrderPaid──▶ COMPLETED
//!    ├────────OrderRejected, PaymentFailed──────────▶ FAILED
//!    └────────cancel, or the deadline───────────────▶ CANCELLED
//! ```
//!
//! The order alone arbitrates between completing, failing and cancelling: whatever arrives after one of the three, in
//! whatever order, is logged and changes nothing.

use std::time::Duration;

use belfry_core::id::compose;
use belfry_core::item::{Index, KeyAttribute, spread, text};
use belfry_core::{Commit, Context, Entity, Item, Keep, Key, Refusal, Revision, Stored, Table};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Time, UserId};

mod events;
mod intent;
mod lines;
mod news;
mod steps;

pub use events::{
    OrderCancelled, OrderCompleted, OrderFailed, OrderPaid, OrderPlaced, OrderRejected, OrderValidated, PaymentFailed,
    PaymentRefunded, PricedLine, StockReleased, StockSold,
};
pub use intent::{IntentId, NotAnIntentId};
pub use lines::{BadLines, Line, Money, NotAQuantity, OrderRequest, Quantity};
pub use news::{News, hear};
pub use steps::{Outcome, StepName, StepTaken};

/// The status of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OrderStatus {
    /// Placed, and nothing has happened yet.
    Placed,
    /// The stock is reserved and the price is fixed.
    Validated,
    /// Paid.
    Completed,
    /// There was too little stock, or the payment was declined.
    Failed,
    /// Cancelled by the customer, or past its deadline.
    Cancelled,
}

impl OrderStatus {
    /// The name as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Placed => "PLACED",
            Self::Validated => "VALIDATED",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Whether the order has ended.
    pub fn is_final(self) -> bool {
        match self {
            Self::Placed | Self::Validated => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }
}

/// Why an order was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CancelReason {
    /// Somebody asked for it.
    Requested,
    /// It stood still past its deadline.
    TimedOut,
}

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The order's id.
    pub order_id: Uuid,
    /// The customer who ordered.
    pub customer_id: UserId,
    /// The status.
    pub status: OrderStatus,
    /// What was ordered.
    pub lines: Vec<Line>,
    /// The price, once the inventory has fixed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Money>,
    /// The log.
    pub steps: Vec<StepTaken>,
    /// When it is cancelled if it has not ended.
    pub deadline_at: Time,
    /// When it was placed.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// The index that lists orders that have not ended, by their deadline. It only finds candidates; the version decides.
pub const UNSETTLED: Index =
    Index { name: "unsettled", hash: KeyAttribute::text("unsettled"), range: Some(KeyAttribute::text("due_at")) };

/// How many partitions [`UNSETTLED`] is spread over.
const PARTITIONS: u32 = 8;

impl Entity for Order {
    const TABLE: Table = Table::new("orders", "order_id").indexes(&[UNSETTLED]);
    const KIND: &'static str = "Order";
    const INDEX_ATTRIBUTES: &'static [&'static str] = &["unsettled", "due_at"];
    type Id<'a> = Uuid;

    fn key(id: Uuid) -> Key {
        id.into()
    }

    fn id(&self) -> Uuid {
        self.order_id
    }

    fn index_attributes(&self) -> Item {
        if self.status.is_final() {
            return Item::new();
        }
        let unsettled = partition(spread(&self.order_id.to_string(), PARTITIONS));
        Item::from([("unsettled".to_owned(), text(unsettled)), ("due_at".to_owned(), text(self.deadline_at))])
    }
}

fn partition(number: u32) -> String {
    compose(&["OPEN", &number.to_string()])
}

/// The order does not have a status in which it can be cancelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("already {}", .status.as_str())]
pub struct CancelRefused {
    /// Its status.
    pub status: OrderStatus,
}

impl Refusal for CancelRefused {
    fn keep(&self) -> Keep {
        Keep::Store
    }
}

/// Places an order. Its id is the first of the execution.
pub fn place(customer_id: UserId, lines: Vec<Line>, deadline: Duration, ctx: &Context) -> Commit<Revision<Order>> {
    let (order_id, now) = (ctx.id(0), ctx.now());
    let order = Revision::new(Order {
        order_id,
        customer_id: customer_id.clone(),
        status: OrderStatus::Placed,
        lines: lines.clone(),
        total: None,
        steps: vec![StepTaken::new(StepName::PlaceOrder, Outcome::Done, ctx.event_id(0), now)],
        deadline_at: now.plus(deadline),
        created_at: now,
        updated_at: now,
    });
    ctx.commit().put(&order).event(OrderPlaced { order_id, customer_id, lines }).output(order)
}

/// Cancels an order that has not ended.
pub fn cancel(
    order: &Stored<Order>,
    reason: CancelReason,
    ctx: &Context,
) -> Result<Commit<Revision<Order>>, CancelRefused> {
    if order.status.is_final() {
        return Err(CancelRefused { status: order.status });
    }
    let outcome = match reason {
        CancelReason::Requested => Outcome::Done,
        CancelReason::TimedOut => Outcome::TimedOut,
    };
    let step = StepTaken::new(StepName::CancelOrder, outcome, ctx.event_id(0), ctx.now());
    let next = order.becomes(Order { status: OrderStatus::Cancelled, ..order.after(step, ctx.now()) });
    let cancelled = OrderCancelled { order_id: order.order_id, customer_id: order.customer_id.clone(), reason };
    Ok(ctx.commit().put(&next).event(cancelled).output(next))
}

impl Order {
    /// The partitions of [`UNSETTLED`].
    pub fn unsettled_partitions() -> impl Iterator<Item = String> {
        (0..PARTITIONS).map(partition)
    }

    /// Whether the order is to be cancelled because it has passed its deadline.
    pub fn is_overdue(&self, now: Time) -> bool {
        !self.status.is_final() && self.deadline_at <= now
    }

    fn after(&self, step: StepTaken, now: Time) -> Self {
        let mut next = Self { updated_at: now, ..self.clone() };
        next.steps.push(step);
        next
    }
}

#[cfg(test)]
mod tests;
