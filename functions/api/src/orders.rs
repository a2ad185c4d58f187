//! `GET /v1/orders/{id}`: one order with its steps, how orders are answered, and who may see which. One consistent read.
//!
//! Customers see and cancel their own; `commands:write` any; `operate` sees any. What a caller may not see is not told
//! from what is not there.

use axum::Json;
use axum::extract::State;
use belfry_http::InPath;
use domain::order::{Line, Money, Order, OrderStatus, Outcome, Step, StepTaken};
use domain::{Audience, EventId, Time, UserId};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Shared;
use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Caller, Scope};

/// An order as it stands.
#[utoipa::path(
    get,
    path = "/v1/orders/{id}",
    params(("id" = String, Path)),
    responses((status = 200, body = OrderView), (status = 404, body = ErrorBody))
)]
pub async fn show_order(
    State(api): Shared,
    caller: Caller,
    InPath(id): InPath<String>,
) -> Result<Json<OrderView>, ApiError> {
    let order = api.orders.get(&api.commands.ledger, &order_id(&id)?).await?;
    Ok(Json(OrderView::of(visible(&caller, order.as_ref())?)))
}

/// What is no id is nobody's id.
pub fn order_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::parse_str(text).map_err(|_| unknown())
}

/// The order, if the caller may see it.
pub fn visible<'a>(caller: &Caller, order: Option<&'a Order>) -> Result<&'a Order, ApiError> {
    let sees_all = caller.may(Scope::CommandsWrite) || caller.may(Scope::Operate);
    order.filter(|order| sees_all || caller.is(Audience::Customer, &order.customer_id)).ok_or_else(unknown)
}

fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "no such order")
}

/// The answer for somebody else's order.
pub fn not_theirs() -> ApiError {
    let scope = Scope::CommandsWrite.as_str();
    ApiError::new(Code::Forbidden, format!("not for this caller: the scope {scope} is missing"))
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
    step: Step,
    #[schema(value_type = String)]
    event_id: EventId,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// DONE, REFUSED or TIMED_OUT.
    #[schema(value_type = String)]
    outcome: Outcome,
    /// The step that this one undoes.
    #[schema(value_type = Option<String>)]
    compensates: Option<Step>,
}

impl OrderView {
    /// The view of an order.
    pub fn of(order: &Order) -> Self {
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
            version: order.version,
            created_at: order.created_at,
            updated_at: order.updated_at,
        }
    }
}
