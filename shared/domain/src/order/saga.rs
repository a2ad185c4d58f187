//! The steps of the saga, and how each is undone.
//!
//! Every step forward names what undoes it, or says why nothing has to: [`Forward::undone_by`] has no catch-all arm, so a
//! new step without that answer does not compile. Each service undoes its own step when it hears that the order failed or
//! was cancelled, at the same time as the others; the log on the order shows what was undone and, from this declaration, what
//! it undoes.

use serde::{Deserialize, Serialize};

use crate::{EventId, Time};

/// A step towards a completed order, in the order in which they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forward {
    /// The inventory reserves every line, and fixes the prices.
    ReserveStock,
    /// The payment is charged.
    ChargePayment,
    /// The order is completed.
    CompleteOrder,
    /// What was reserved is sold.
    SellStock,
}

/// How a step forward is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undone {
    /// By this.
    By(Compensation),
    /// Never, because nothing after it can fail.
    Never,
}

/// A step back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compensation {
    /// What was reserved is free again.
    ReleaseStock,
    /// What was charged is paid back.
    RefundPayment,
}

impl Forward {
    /// All of them, in the order in which they are taken.
    pub const ALL: [Self; 4] = [Self::ReserveStock, Self::ChargePayment, Self::CompleteOrder, Self::SellStock];

    /// How it is undone.
    pub const fn undone_by(self) -> Undone {
        match self {
            Self::ReserveStock => Undone::By(Compensation::ReleaseStock),
            Self::ChargePayment => Undone::By(Compensation::RefundPayment),
            Self::CompleteOrder | Self::SellStock => Undone::Never,
        }
    }
}

/// A step as the order's log names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Step {
    /// It was placed.
    PlaceOrder,
    /// [`Forward::ReserveStock`].
    ReserveStock,
    /// [`Forward::ChargePayment`].
    ChargePayment,
    /// [`Forward::CompleteOrder`].
    CompleteOrder,
    /// [`Forward::SellStock`].
    SellStock,
    /// It came to nothing.
    FailOrder,
    /// It was called off.
    CancelOrder,
    /// [`Compensation::ReleaseStock`].
    ReleaseStock,
    /// [`Compensation::RefundPayment`].
    RefundPayment,
}

impl From<Forward> for Step {
    fn from(step: Forward) -> Self {
        match step {
            Forward::ReserveStock => Self::ReserveStock,
            Forward::ChargePayment => Self::ChargePayment,
            Forward::CompleteOrder => Self::CompleteOrder,
            Forward::SellStock => Self::SellStock,
        }
    }
}

impl From<Compensation> for Step {
    fn from(compensation: Compensation) -> Self {
        match compensation {
            Compensation::ReleaseStock => Self::ReleaseStock,
            Compensation::RefundPayment => Self::RefundPayment,
        }
    }
}

impl Step {
    /// The step that this one undoes, if it does.
    pub fn compensates(self) -> Option<Self> {
        let undoes = |step: &Forward| matches!(step.undone_by(), Undone::By(undo) if Self::from(undo) == self);
        Forward::ALL.into_iter().find(undoes).map(Self::from)
    }
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    /// As it should.
    Done,
    /// It was not to be had: too little stock, a declined card.
    Refused,
    /// The saga had stood still for too long.
    TimedOut,
}

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTaken {
    /// Which.
    pub step: Step,
    /// The event that reports it.
    pub event_id: EventId,
    /// When.
    pub at: Time,
    /// How it ended.
    pub outcome: Outcome,
}

impl StepTaken {
    /// A step.
    pub fn new(step: Step, outcome: Outcome, event_id: EventId, at: Time) -> Self {
        Self { step, event_id, at, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compensation_names_the_step_that_declares_it_and_no_other_step_undoes_any() {
        assert_eq!(Step::ReleaseStock.compensates(), Some(Step::ReserveStock));
        assert_eq!(Step::RefundPayment.compensates(), Some(Step::ChargePayment));
        for step in
            Forward::ALL.map(Step::from).into_iter().chain([Step::PlaceOrder, Step::FailOrder, Step::CancelOrder])
        {
            assert_eq!(step.compensates(), None, "{step:?}");
        }
    }
}
