//! `POST /v1/orders`: places an order. It names no prices: they are the inventory's.
//!
//! One round trip: no read before, three items, six write units.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use belfry_aws::{Command, Commit, Context, Revision};
use belfry_http::{Answer, Keyed};
use domain::order::{self, Line, Order, OrderRequest};
use domain::{Audience, UserId};

use super::{OrderRefusal, OrderView, may_order_for};
use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Caller, Scope};
use crate::http::refusal::respond;
use crate::{Api, Shared};

/// Places an order.
#[utoipa::path(
    post,
    path = "/v1/orders",
    request_body(content = Object, description = "customer_id; lines, 1 to 50 of {stock_keeping_unit, quantity}; equal units are merged"),
    params(("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 201, description = "placed, now or by an earlier request with this key", body = OrderView),
        (status = 400, body = ErrorBody),
        (status = 403, description = "for another customer than the caller", body = ErrorBody),
        (status = 404, description = "orders are not enabled", body = ErrorBody),
        (status = 409, description = "the key was used for another request", body = ErrorBody),
    )
)]
pub async fn place_order(
    State(api): Shared,
    MayPlace(caller): MayPlace,
    _: OrdersEnabled,
    Keyed { request, body }: Keyed<OrderRequest>,
) -> Result<Answer, ApiError> {
    let lines = body.merged().map_err(|error| ApiError::field("lines", error))?;
    may_order_for(&caller, &body.customer_id)?;
    let command = PlaceOrder { customer_id: body.customer_id, lines, deadline: api.order_deadline };
    Ok(api.belfry.execute(&request, &command, respond(201, OrderView::of)).await?.into())
}

/// A caller who may place an order, if it is their own. As an extractor it refuses everybody else before anything else of the
/// request is read.
#[derive(Debug)]
pub struct MayPlace(
    /// Who calls.
    pub Caller,
);

impl<S: Sync> FromRequestParts<S> for MayPlace {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let may_place = caller.user_type == Some(Audience::Customer) || caller.may(Scope::CommandsWrite);
        if may_place { Ok(Self(caller)) } else { Err(OrderRefusal::NotAllowed.into()) }
    }
}

/// A deployment that takes orders. Without payments it would accept them and never finish them.
#[derive(Debug)]
pub struct OrdersEnabled;

impl FromRequestParts<Arc<Api>> for OrdersEnabled {
    type Rejection = ApiError;

    async fn from_request_parts(_: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        if api.orders_enabled { Ok(Self) } else { Err(ApiError::new(Code::NotFound, "orders are not enabled")) }
    }
}

struct PlaceOrder {
    customer_id: UserId,
    lines: Vec<Line>,
    deadline: Duration,
}

impl Command for PlaceOrder {
    const NAME: &'static str = "place_order";
    // The order's id is new, so there is nothing to read.
    type Reads = ();
    type Output = Revision<Order>;
    type Refusal = Infallible;

    fn reads(&self) {}

    fn decide(&self, (): (), ctx: &Context) -> Result<Commit<Revision<Order>>, Infallible> {
        Ok(order::place(self.customer_id.clone(), self.lines.clone(), self.deadline, ctx))
    }
}
