//! The log of an order: which steps of its saga were taken, and how they ended.

use serde::{Deserialize, Serialize};

use crate::{EventId, Time};

/// A step as the order's log names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StepName {
    /// The order was placed.
    PlaceOrder,
    /// The inventory reserved every line and fixed the prices.
    ReserveStock,
    /// The payment was charged.
    ChargePayment,
    /// The order was completed.
    CompleteOrder,
    /// The reserved stock was sold.
    SellStock,
    /// The order failed.
    FailOrder,
    /// The order was cancelled.
    CancelOrder,
    /// The reserved stock was released.
    ReleaseStock,
    /// The charge was refunded.
    RefundPayment,
}

impl StepName {
    /// The step that this one undoes, for readers of the log. What a service does to undo its step is declared with the
    /// step itself: [`ReserveStock`](crate::stock::ReserveStock).
    pub const fn compensates(self) -> Option<Self> {
        match self {
            Self::ReleaseStock => Some(Self::ReserveStock),
            Self::RefundPayment => Some(Self::ChargePayment),
            Self::PlaceOrder
            | Self::ReserveStock
            | Self::ChargePayment
            | Self::CompleteOrder
            | Self::SellStock
            | Self::FailOrder
            | Self::CancelOrder => None,
        }
    }
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    /// As intended.
    Done,
    /// Refused: too little stock, or a declined card.
    Refused,
    /// The order had passed its deadline.
    TimedOut,
}

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTaken {
    /// The step.
    pub step: StepName,
    /// The event that reports it.
    pub event_id: EventId,
    /// When it was taken.
    pub at: Time,
    /// How it ended.
    pub outcome: Outcome,
}

impl StepTaken {
    /// A step.
    pub fn new(step: StepName, outcome: Outcome, event_id: EventId, at: Time) -> Self {
        Self { step, event_id, at, outcome }
    }
}
