//! Orders, and who may see and cancel which.
//!
//! Customers see and cancel their own; `commands:write` sees and cancels any; `operate` sees any. An order that the caller may
//! not see is 404.

pub mod cancel;
pub mod place;
pub mod show;

use belfry_aws::{Keep, Refusal, Revision, Stored};
use domain::order::{CancelRefused, Line, Money, Order, OrderStatus, Outcome, StepName, StepTaken};
use domain::{Audience, EventId, Time, UserId};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::http::error::ApiError;
use crate::http::identity::{Caller, Scope};

/// Why an order is not placed, shown or cancelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderRefusal {
    /// There is none, or the caller may not see it.
    #[error("no such order")]
    Unknown,
    /// The caller may not place or cancel it.
    #[error("not for this caller")]
    NotAllowed,
    /// The order has ended.
    #[error(transparent)]
    Ended(#[from] CancelRefused),
}

impl Refusal for OrderRefusal {
    fn keep(&self) -> Keep {
        match self {
            Self::Unknown | Self::NotAllowed => Keep::DoNotStore,
            Self::Ended(refused) => refused.keep(),
        }
    }
}

/// Malformed ids are 404.
fn order_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::parse_str(text).map_err(|_| OrderRefusal::Unknown.into())
}

/// The order, if the caller may see it.
fn visible(caller: &Caller, order: Option<Stored<Order>>) -> Result<Stored<Order>, OrderRefusal> {
    let sees_all = caller.may(Scope::CommandsWrite) || caller.may(Scope::Operate);
    let visible = |order: &Stored<Order>| sees_all || caller.is(Audience::Customer, &order.customer_id);
    order.filter(visible).ok_or(OrderRefusal::Unknown)
}

/// Whether the caller may place and cancel this customer's orders.
fn may_order_for(caller: &Caller, customer_id: &UserId) -> Result<(), OrderRefusal> {
    let allowed = caller.may(Scope::CommandsWrite) || caller.is(Audience::Customer, customer_id);
    if allowed { Ok(()) } else { Err(OrderRefusal::NotAllowed) }
}

/// An order as it is answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrderView {
    order_id: Uuid,
    #[schema(value_type = String)]
    customer_id: UserId,
    #[schema(value_type = String, example = "PLACED")]
    status: OrderStatus,
    #[schema(value_type = Vec<Object>)]
    lines: Vec<Line>,
    /// Once the inventory has fixed the prices.
    #[schema(value_type = Option<Object>)]
    total: Option<Money>,
    steps: Vec<StepView>,
    version: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Time,
}

/// A step that was taken.
#[derive(Debug, Serialize, ToSchema)]
pub struct StepView {
    #[schema(value_type = String, example = "RESERVE_STOCK")]
    step: StepName,
    #[schema(value_type = String)]
    event_id: EventId,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// DONE, REFUSED or TIMED_OUT.
    #[schema(value_type = String)]
    outcome: Outcome,
    /// The step that this one undoes.
    #[schema(value_type = Option<String>)]
    compensates: Option<StepName>,
}

impl OrderView {
    fn of(revision: &Revision<Order>) -> Self {
        Self::at(revision.version(), revision)
    }

    fn stored(stored: &Stored<Order>) -> Self {
        Self::at(stored.version(), stored)
    }

    fn at(version: u64, order: &Order) -> Self {
        let view = |taken: &StepTaken| StepView {
            step: taken.step,
            event_id: taken.event_id.clone(),
            at: taken.at,
            outcome: taken.outcome,
            compensates: taken.step.compensates(),
        };
        let mut steps: Vec<StepView> = order.steps.iter().map(view).collect();
        // Stable: what has the same time stays in the order in which the order heard of it.
        steps.sort_by_key(|step| step.at);
        Self {
            order_id: order.order_id,
            customer_id: order.customer_id.clone(),
            status: order.status,
            lines: order.lines.clone(),
            total: order.total.clone(),
            steps,
            version,
            created_at: order.created_at,
            updated_at: order.updated_at,
        }
    }
}
