//! `POST /v1/orders`: a customer wants something. Prices are the inventory's, so none can be named.
//!
//! One round trip: no read before, three items, six write units.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use belfry_aws::{Command, Commit, Context, Revision, StoredResponse};
use domain::order::{self, Line, Order, OrderRequest};
use domain::{Audience, UserId};

use crate::answer::{Keyed, responded};
use crate::body::JsonBody;
use crate::caller::{Caller, Scope};
use crate::error::{ApiError, Code, ErrorBody};
use crate::orders::{OrderView, not_theirs};
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
    _: MayPlace,
    _: OrdersEnabled,
    keyed: Keyed,
    body: JsonBody<OrderRequest>,
) -> Result<Response, ApiError> {
    let request = keyed.request(&body.json)?;
    let asked = body.parsed;
    let lines = asked.merged().map_err(|error| ApiError::field("lines", error))?;
    if !may_place(&keyed.caller, &asked.customer_id) {
        return Err(not_theirs());
    }
    let command = PlaceOrder { customer_id: asked.customer_id, lines, deadline: api.order_deadline };
    let executed = api.belfry.execute(&request, &command, |end| match end {
        Ok(order) => StoredResponse::json(201, &OrderView::revised(order)),
        Err(never) => match *never {},
    });
    Ok(responded(executed.await?))
}

/// A caller who may place an order, if it is their own. As an extractor it refuses everybody else before anything of the
/// request is looked at.
#[derive(Debug)]
pub struct MayPlace;

impl<S: Sync> axum::extract::FromRequestParts<S> for MayPlace {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let places = caller.user_type == Some(Audience::Customer) || caller.may(Scope::CommandsWrite);
        if places { Ok(Self) } else { Err(not_theirs()) }
    }
}

/// A deployment that takes orders. One without payments would accept them and never finish them.
#[derive(Debug)]
pub struct OrdersEnabled;

impl axum::extract::FromRequestParts<Arc<Api>> for OrdersEnabled {
    type Rejection = ApiError;

    async fn from_request_parts(_: &mut axum::http::request::Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        if api.orders_enabled { Ok(Self) } else { Err(ApiError::new(Code::NotFound, "orders are not enabled")) }
    }
}

fn may_place(caller: &Caller, customer_id: &UserId) -> bool {
    caller.may(Scope::CommandsWrite) || caller.is(Audience::Customer, customer_id)
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
