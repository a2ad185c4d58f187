//! What an order hears from the other services, and what becomes of it.

use belfry_core::{Commit, Context, Stored};
use uuid::Uuid;

use super::{
    Order, OrderCompleted, OrderFailed, OrderPaid, OrderRejected, OrderStatus, OrderValidated, Outcome, PaymentFailed,
    PaymentRefunded, StepName, StepTaken, StockReleased, StockSold,
};
use crate::Event;

belfry_core::messages! {
    /// What the order hears from the other services.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum News {
        /// The stock is reserved.
        OrderValidated,
        /// There is too little stock.
        OrderRejected,
        /// The payment is charged.
        OrderPaid,
        /// The payment was declined.
        PaymentFailed,
        /// The reserved stock is sold.
        StockSold,
        /// The reserved stock is released.
        StockReleased,
        /// The charge is refunded.
        PaymentRefunded,
    }
}

impl News {
    /// The order that it is about.
    pub fn order_id(&self) -> Uuid {
        match self {
            Self::OrderValidated(news) => news.order_id,
            Self::OrderRejected(news) => news.order_id,
            Self::OrderPaid(news) => news.order_id,
            Self::PaymentFailed(news) => news.order_id,
            Self::StockSold(news) => news.order_id,
            Self::StockReleased(news) => news.order_id,
            Self::PaymentRefunded(news) => news.order_id,
        }
    }

    fn step(&self) -> (StepName, Outcome) {
        match self {
            Self::OrderValidated(_) => (StepName::ReserveStock, Outcome::Done),
            Self::OrderRejected(_) => (StepName::ReserveStock, Outcome::Refused),
            Self::OrderPaid(_) => (StepName::ChargePayment, Outcome::Done),
            Self::PaymentFailed(_) => (StepName::ChargePayment, Outcome::Refused),
            Self::StockSold(_) => (StepName::SellStock, Outcome::Done),
            Self::StockReleased(_) => (StepName::ReleaseStock, Outcome::Done),
            Self::PaymentRefunded(_) => (StepName::RefundPayment, Outcome::Done),
        }
    }
}

/// Writes news into the order's log, and completes or fails the order if it is still open. Returns the status if this ends
/// the order. News after the end is logged and changes nothing else.
pub fn hear(order: &Stored<Order>, news: &News, event: &Event, ctx: &Context) -> Commit<Option<OrderStatus>> {
    let (step, outcome) = news.step();
    let taken = StepTaken::new(step, outcome, event.event_id.clone(), event.occurred_at);
    let mut next = order.after(taken, ctx.now());
    let total = match news {
        News::OrderValidated(validated) => Some(&validated.total),
        News::OrderPaid(paid) => Some(&paid.total),
        _ => None,
    };
    next.total = next.total.or_else(|| total.cloned());
    let (order_id, customer_id) = (order.order_id, order.customer_id.clone());
    let is_open = !order.status.is_final();
    let commit = ctx.commit();
    let (status, ends, commit) = match news {
        News::OrderValidated(_) if order.status == OrderStatus::Placed => (OrderStatus::Validated, None, commit),
        News::OrderPaid(OrderPaid { total, .. }) if is_open => {
            let total = total.clone();
            let commit = commit.event(OrderCompleted { order_id, customer_id, total });
            (OrderStatus::Completed, Some(StepName::CompleteOrder), commit)
        }
        News::OrderRejected(OrderRejected { reason, .. }) | News::PaymentFailed(PaymentFailed { reason, .. })
            if is_open =>
        {
            let commit = commit.event(OrderFailed { order_id, customer_id, reason: reason.clone() });
            (OrderStatus::Failed, Some(StepName::FailOrder), commit)
        }
        _ => (order.status, None, commit),
    };
    next.status = status;
    if let Some(step) = ends {
        next.steps.push(StepTaken::new(step, Outcome::Done, ctx.event_id(0), ctx.now()));
    }
    commit.put(&order.becomes(next)).output(ends.map(|_| status))
}
