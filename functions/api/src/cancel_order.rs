//! `POST /v1/orders/{id}/cancel`: calls an order off, as long as it has not come to its end.
//!
//! Two round trips, six write units. The order alone decides whether it was completed, failed or cancelled first; what was
//! reserved or charged by then, or is while this happens, is undone by the services that did it.

use axum::extract::State;
use axum::response::Response;
use belfry_http::{InPath, NoBody};
use domain::order::{CancelReason, Order};
use domain::{Audience, Fresh, Trace};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Found, Key, LedgerError};
use uuid::Uuid;

use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Caller, Scope};
use crate::http::ledger::Keyed;
use crate::orders::{OrderView, not_theirs, order_id, visible};
use crate::{Api, Shared};

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
    InPath(id): InPath<String>,
    keyed: Keyed,
    body: NoBody,
) -> Result<Response, ApiError> {
    let request = keyed.with_body(&body.json)?;
    let command = CancelOrder { id: order_id(&id)?, caller: &keyed.caller, trace: &keyed.trace, api: &api };
    api.execute("cancel_order", &request, &command).await
}

struct CancelOrder<'a> {
    id: Uuid,
    caller: &'a Caller,
    trace: &'a Trace,
    api: &'a Api,
}

impl CancelOrder<'_> {
    /// The order, if it is the caller's to cancel.
    fn theirs<'k>(&self, order: Option<&'k Order>) -> Result<&'k Order, ApiError> {
        let order = visible(self.caller, order)?;
        let theirs = self.caller.may(Scope::CommandsWrite) || self.caller.is(Audience::Customer, &order.customer_id);
        if theirs { Ok(order) } else { Err(not_theirs()) }
    }
}

impl Command for CancelOrder<'_> {
    type Known = Option<Order>;

    fn begin(&self) -> Begin {
        Begin::Read
    }

    fn reads(&self) -> Vec<Key> {
        vec![self.api.orders.key(&self.id)]
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        self.api.orders.among(found, &self.id)
    }

    fn decide(&self, known: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        let order = match self.theirs(known.as_ref()) {
            Ok(order) => order,
            Err(refusal) => return Ok(Decision::Decline(refusal.into_answer()?)),
        };
        let by = (self.caller.identity.subject.as_str(), Some(self.trace.clone()));
        match order.cancel(CancelReason::Requested, fresh, by)? {
            Err(refused) => {
                let refusal = ApiError::new(Code::OrderStateConflict, refused.to_string());
                Ok(Decision::Refuse(refusal.into_answer()?))
            }
            Ok((next, event)) => Ok(Decision::Commit {
                writes: vec![self.api.orders.put(&next)?],
                events: vec![event],
                answer: Answer::json(200, &OrderView::of(&next))?,
            }),
        }
    }
}
