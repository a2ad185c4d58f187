//! `POST /v1/orders/{id}/cancel`: cancels an order that has not ended.
//!
//! Two round trips, six write units. The order alone decides whether it was completed, failed or cancelled first. What was
//! reserved or charged by then, or is at the same moment, is undone by the services that did it.

use axum::extract::State;
use belfry_aws::{Command, Commit, Context, Entity, Get, Revision, Stored};
use belfry_http::{Answer, InPath, KeyedNoBody};
use domain::order::{self, CancelReason, Order};
use uuid::Uuid;

use super::{OrderRefusal, OrderView, may_order_for, order_id, visible};
use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::Caller;
use crate::http::refusal::respond;

/// Cancels an order.
#[utoipa::path(
    post,
    path = "/v1/orders/{id}/cancel",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, body = OrderView),
        (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody),
        (status = 409, description = "ORDER_STATE_CONFLICT", body = ErrorBody),
    )
)]
pub async fn cancel_order(
    State(api): Shared,
    caller: Caller,
    InPath(id): InPath<String>,
    KeyedNoBody(request): KeyedNoBody,
) -> Result<Answer, ApiError> {
    let command = CancelOrder { id: order_id(&id)?, caller: &caller };
    Ok(api.belfry.execute(&request, &command, respond(200, OrderView::of)).await?.into())
}

struct CancelOrder<'a> {
    id: Uuid,
    caller: &'a Caller,
}

impl Command for CancelOrder<'_> {
    const NAME: &'static str = "cancel_order";
    type Reads = Get<Order>;
    type Output = Revision<Order>;
    type Refusal = OrderRefusal;

    fn reads(&self) -> Get<Order> {
        Order::by_id(self.id)
    }

    fn decide(&self, order: Option<Stored<Order>>, ctx: &Context) -> Result<Commit<Revision<Order>>, OrderRefusal> {
        let order = visible(self.caller, order)?;
        may_order_for(self.caller, &order.customer_id)?;
        Ok(order::cancel(&order, CancelReason::Requested, ctx)?)
    }
}
