//! Orders: what a customer asks for, where it stands, and what happened to it step by step.
//!
//! ```text
//! PLACED ──OrderValidated──▶ VALIDATED ──OrderPaid──▶ COMPLETED
//!    ├────────OrderRejected, PaymentFailed──────────▶ FAILED
//!    └────────cancel, or the deadline───────────────▶ CANCELLED
//! ```
//!
//! The order alone arbitrates between completing, failing and cancelling: whatever arrives after one of the three, in
//! whatever order, is written down and changes nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Event, Fresh, StockKeepingUnit, Time, Trace, UserId};

mod events;
mod intent;
mod saga;

pub use events::{
    CANCELLED, COMPLETED, FAILED, OrderCancelled, OrderCompleted, OrderFailed, OrderPaid, OrderPlaced, OrderRejected,
    OrderValidated, PAID, PAYMENT_FAILED, PLACED, PaymentFailed, PaymentRefunded, PricedLine, REFUNDED, REJECTED,
    RELEASED, SOLD, StockMoved, VALIDATED,
};
pub use intent::{IntentId, NotAnIntentId};
pub use saga::{Compensation, Forward, Outcome, Step, StepTaken, Undone};

/// An amount in minor units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Money {
    /// How many cents, pence, fils.
    pub amount: u64,
    /// The currency, as ISO 4217 writes it.
    pub currency: String,
}

/// How many of a unit: 1 to 1,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minimum" = 1, "maximum" = Quantity::MOST)))]
#[serde(into = "u64", try_from = "u64")]
pub struct Quantity(u64);

/// The number cannot be a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from 1 to 1000000")]
pub struct NotAQuantity;

impl Quantity {
    /// The most of one unit in one order.
    pub const MOST: u64 = 1_000_000;
}

impl From<Quantity> for u64 {
    fn from(quantity: Quantity) -> Self {
        quantity.0
    }
}

impl TryFrom<u64> for Quantity {
    type Error = NotAQuantity;

    fn try_from(number: u64) -> Result<Self, NotAQuantity> {
        if (1..=Self::MOST).contains(&number) { Ok(Self(number)) } else { Err(NotAQuantity) }
    }
}

/// One line: so many of a unit. It has no price: prices are the inventory's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The unit.
    pub stock_keeping_unit: StockKeepingUnit,
    /// How many.
    pub quantity: Quantity,
}

/// What is asked for: the body of `POST /v1/orders`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderRequest {
    /// Whose order.
    pub customer_id: UserId,
    /// What they want.
    pub lines: Vec<Line>,
}

/// The lines cannot be an order's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLines {
    /// None, or more than an order may have.
    #[error("must be 1 to 50 lines")]
    Count,
    /// Of one unit, all lines together.
    #[error("{0}: at most 1000000 of one unit")]
    TooMany(StockKeepingUnit),
}

impl OrderRequest {
    /// The lines with equal units merged, in the order of their units.
    pub fn merged(&self) -> Result<Vec<Line>, BadLines> {
        if !(1..=50).contains(&self.lines.len()) {
            return Err(BadLines::Count);
        }
        let mut merged: BTreeMap<&StockKeepingUnit, u64> = BTreeMap::new();
        for line in &self.lines {
            *merged.entry(&line.stock_keeping_unit).or_default() += u64::from(line.quantity);
        }
        let line = |(unit, quantity): (&StockKeepingUnit, u64)| {
            let quantity = Quantity::try_from(quantity).map_err(|_| BadLines::TooMany(unit.clone()))?;
            Ok(Line { stock_keeping_unit: unit.clone(), quantity })
        };
        merged.into_iter().map(line).collect()
    }
}

/// Where an order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OrderStatus {
    /// Nothing has happened yet.
    Placed,
    /// The stock is reserved and the price is fixed.
    Validated,
    /// It is paid for.
    Completed,
    /// There was too little stock, or the payment was declined.
    Failed,
    /// It was called off, or stood still for too long.
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

    /// Whether the order has come to its end, one way or another.
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

/// The aggregate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its own id.
    pub order_id: Uuid,
    /// Whose.
    pub customer_id: UserId,
    /// Where it stands.
    pub status: OrderStatus,
    /// What was asked for.
    pub lines: Vec<Line>,
    /// What it costs, once the inventory has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Money>,
    /// What happened to it.
    pub steps: Vec<StepTaken>,
    /// When it is cancelled, if it has not come to its end.
    pub deadline_at: Time,
    /// When it was placed.
    pub created_at: Time,
    /// When it was changed last.
    pub updated_at: Time,
    /// Grows by one with each change, from 1.
    pub version: u64,
}

/// What the order hears from the other services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The stock is reserved.
    Validated(OrderValidated),
    /// There is too little of it.
    Rejected(OrderRejected),
    /// It is paid for.
    Paid(OrderPaid),
    /// The payment was declined.
    PaymentFailed(PaymentFailed),
    /// What was reserved is sold.
    Sold(StockMoved),
    /// What was reserved is free again.
    Released(StockMoved),
    /// What was paid is paid back.
    Refunded(PaymentRefunded),
}

/// The order does not stand where it can be cancelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("already {}", .status.as_str())]
pub struct CancelRefused {
    /// Where it stands.
    pub status: OrderStatus,
}

/// An order after some news, and what it reports of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The order.
    pub order: Order,
    /// Its own event, where the news brought it to its end.
    pub event: Option<Event>,
}

impl Order {
    /// The kind under which the history of orders is kept.
    pub const AGGREGATE: &'static str = "Order";

    /// An order as it begins.
    pub fn place(id: Uuid, customer_id: UserId, lines: Vec<Line>, deadline: Duration, fresh: &Fresh) -> Self {
        let placed = StepTaken::new(Step::PlaceOrder, Outcome::Done, fresh.event_id.into(), fresh.now);
        Self {
            order_id: id,
            customer_id,
            status: OrderStatus::Placed,
            lines,
            total: None,
            steps: vec![placed],
            deadline_at: fresh.now.plus(deadline),
            created_at: fresh.now,
            updated_at: fresh.now,
            version: 1,
        }
    }

    /// `OrderPlaced`.
    pub fn placed(&self, fresh: &Fresh, actor: &str, trace: Option<Trace>) -> Result<Event, serde_json::Error> {
        let payload =
            OrderPlaced { order_id: self.order_id, customer_id: self.customer_id.clone(), lines: self.lines.clone() };
        Ok(self.event(PLACED, serde_json::to_value(payload)?, fresh, (actor, trace)))
    }

    /// Calls the order off, and reports it: `OrderCancelled`.
    pub fn cancel(
        &self,
        reason: CancelReason,
        fresh: &Fresh,
        by: (&str, Option<Trace>),
    ) -> Result<Result<(Self, Event), CancelRefused>, serde_json::Error> {
        if self.status.is_final() {
            return Ok(Err(CancelRefused { status: self.status }));
        }
        let outcome = match reason {
            CancelReason::Requested => Outcome::Done,
            CancelReason::TimedOut => Outcome::TimedOut,
        };
        let step = StepTaken::new(Step::CancelOrder, outcome, fresh.event_id.into(), fresh.now);
        let next = Self { status: OrderStatus::Cancelled, ..self.with(step, fresh) };
        let payload = OrderCancelled { order_id: self.order_id, customer_id: self.customer_id.clone(), reason };
        let event = next.event(CANCELLED, serde_json::to_value(payload)?, fresh, by);
        Ok(Ok((next, event)))
    }

    /// The order after it heard of something. What comes after its end is written down and changes nothing.
    pub fn hear(&self, news: &News, heard: &Event, fresh: &Fresh) -> Result<Heard, serde_json::Error> {
        let (step, outcome) = match news {
            News::Validated(_) => (Step::ReserveStock, Outcome::Done),
            News::Rejected(_) => (Step::ReserveStock, Outcome::Refused),
            News::Paid(_) => (Step::ChargePayment, Outcome::Done),
            News::PaymentFailed(_) => (Step::ChargePayment, Outcome::Refused),
            News::Sold(_) => (Step::SellStock, Outcome::Done),
            News::Released(_) => (Step::ReleaseStock, Outcome::Done),
            News::Refunded(_) => (Step::RefundPayment, Outcome::Done),
        };
        let taken = StepTaken::new(step, outcome, heard.event_id.clone(), heard.occurred_at);
        let mut order = self.with(taken, fresh);
        let total = match news {
            News::Validated(validated) => Some(&validated.total),
            News::Paid(paid) => Some(&paid.total),
            _ => None,
        };
        order.total = order.total.or_else(|| total.cloned());
        let open = !self.status.is_final();
        let by = ("order", heard.traceparent.clone());
        let (order_id, customer_id) = (self.order_id.to_string(), self.customer_id.clone());
        let event = match news {
            News::Validated(_) if self.status == OrderStatus::Placed => {
                order.status = OrderStatus::Validated;
                None
            }
            News::Paid(paid) if open => {
                order.status = OrderStatus::Completed;
                let completed = OrderCompleted { order_id, customer_id, total: paid.total.clone() };
                Some((COMPLETED, Step::CompleteOrder, serde_json::to_value(completed)?))
            }
            News::Rejected(OrderRejected { reason, .. }) | News::PaymentFailed(PaymentFailed { reason, .. })
                if open =>
            {
                order.status = OrderStatus::Failed;
                let failed = OrderFailed { order_id, customer_id, reason: reason.clone() };
                Some((FAILED, Step::FailOrder, serde_json::to_value(failed)?))
            }
            _ => None,
        };
        let event = match event {
            None => None,
            Some((event_type, step, payload)) => {
                order.steps.push(StepTaken::new(step, Outcome::Done, fresh.event_id.into(), fresh.now));
                Some(order.event(event_type, payload, fresh, by))
            }
        };
        Ok(Heard { order, event })
    }

    fn with(&self, step: StepTaken, fresh: &Fresh) -> Self {
        let mut next = Self { updated_at: fresh.now, version: self.version + 1, ..self.clone() };
        next.steps.push(step);
        next
    }

    fn event(
        &self,
        event_type: &str,
        payload: serde_json::Value,
        fresh: &Fresh,
        (actor, traceparent): (&str, Option<Trace>),
    ) -> Event {
        Event {
            event_id: fresh.event_id.into(),
            event_type: event_type.to_owned(),
            aggregate_type: Self::AGGREGATE.to_owned(),
            aggregate_id: self.order_id.to_string(),
            version: Some(self.version),
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor: Some(actor.to_owned()),
            traceparent,
            payload,
        }
    }
}

impl News {
    /// Makes sense of an event; `None` where the order has nothing to hear of it.
    pub fn parse(event: &Event) -> Option<Result<Self, serde_json::Error>> {
        fn read<T: serde::de::DeserializeOwned>(event: &Event) -> Result<T, serde_json::Error> {
            T::deserialize(&event.payload)
        }
        Some(match event.event_type.as_str() {
            VALIDATED => read(event).map(Self::Validated),
            REJECTED => read(event).map(Self::Rejected),
            PAID => read(event).map(Self::Paid),
            PAYMENT_FAILED => read(event).map(Self::PaymentFailed),
            SOLD => read(event).map(Self::Sold),
            RELEASED => read(event).map(Self::Released),
            REFUNDED => read(event).map(Self::Refunded),
            _ => return None,
        })
    }

    /// The order that it is about.
    pub fn order_id(&self) -> Uuid {
        match self {
            Self::Validated(news) => news.order_id,
            Self::Rejected(news) => news.order_id,
            Self::Paid(news) => news.order_id,
            Self::PaymentFailed(news) => news.order_id,
            Self::Sold(news) | Self::Released(news) => news.order_id,
            Self::Refunded(news) => news.order_id,
        }
    }
}

#[cfg(test)]
mod tests;
