//! `POST /v1/orders`: a customer wants something. Prices are the inventory's, so none can be named.
//!
//! One round trip: no read before, three items, six write units.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use belfry_http::JsonBody;
use domain::order::{Line, Order, OrderRequest};
use domain::{Audience, Fresh, Trace, UserId};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Found, Key, LedgerError};
use uuid::Uuid;

use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Caller, Scope};
use crate::http::ledger::Keyed;
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
    let request = keyed.with_body(&body.json)?;
    let asked = body.parsed;
    let lines = asked.merged().map_err(|error| ApiError::field("lines", error))?;
    if !may_place(&keyed.caller, &asked.customer_id) {
        return Err(not_theirs());
    }
    let command = PlaceOrder {
        // One id for all attempts: a decision is asked again after a lost race, and must then mean the same item.
        id: Uuid::now_v7(),
        customer_id: asked.customer_id,
        lines,
        caller: &keyed.caller,
        trace: &keyed.trace,
        api: &api,
    };
    api.execute("place_order", &request, &command).await
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

struct PlaceOrder<'a> {
    id: Uuid,
    customer_id: UserId,
    lines: Vec<Line>,
    caller: &'a Caller,
    trace: &'a Trace,
    api: &'a Api,
}

impl Command for PlaceOrder<'_> {
    type Known = ();

    fn begin(&self) -> Begin {
        Begin::AssumeAbsent
    }

    fn reads(&self) -> Vec<Key> {
        vec![self.api.orders.key(&self.id)]
    }

    fn known(&self, _: &Found) -> Result<(), Corrupt> {
        Ok(())
    }

    fn decide(&self, (): &(), fresh: &Fresh) -> Result<Decision, LedgerError> {
        let (customer_id, lines) = (self.customer_id.clone(), self.lines.clone());
        let order = Order::place(self.id, customer_id, lines, self.api.order_deadline, fresh);
        let event = order.placed(fresh, &self.caller.identity.subject, Some(self.trace.clone()))?;
        Ok(Decision::Commit {
            writes: vec![self.api.orders.put(&order)?],
            events: vec![event],
            answer: Answer::json(201, &OrderView::of(&order))?,
        })
    }
}
