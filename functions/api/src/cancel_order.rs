//! `POST /v1/orders/{id}/cancel`: calls an order off, as long as it has not come to its end.
//!
//! Two round trips, six write units. The order alone decides whether it was completed, failed or cancelled first; what was
//! reserved or charged by then, or is while this happens, is undone by the services that did it.

use axum::extract::State;
use axum::response::Response;
use belfry_aws::{Command, Commit, Context, Entity, Get, Keep, Refusal, Revision, Stored, StoredResponse};
use domain::Audience;
use domain::order::{self, CancelReason, CancelRefused, Order};
use uuid::Uuid;

use crate::Shared;
use crate::answer::{Keyed, responded};
use crate::asked::InPath;
use crate::body::NoBody;
use crate::caller::{Caller, Scope};
use crate::error::{ApiError, Code, ErrorBody};
use crate::orders::{OrderView, is_visible, not_theirs, order_id, unknown};

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
    let request = keyed.request(&body.json)?;
    let command = CancelOrder { id: order_id(&id)?, caller: &keyed.caller };
    let executed = api.belfry.execute(&request, &command, |end| match end {
        Ok(order) => StoredResponse::json(200, &OrderView::revised(order)),
        Err(refused) => ApiError::from(refused).response(),
    });
    Ok(responded(executed.await?))
}

struct CancelOrder<'a> {
    id: Uuid,
    caller: &'a Caller,
}

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("no such order")]
    NotFound,
    #[error("not the caller's order")]
    NotTheirs,
    #[error(transparent)]
    Ended(#[from] CancelRefused),
}

impl Refusal for Refused {
    fn keep(&self) -> Keep {
        match self {
            Self::NotFound | Self::NotTheirs => Keep::DoNotStore,
            Self::Ended(refused) => refused.keep(),
        }
    }
}

impl From<&Refused> for ApiError {
    fn from(refused: &Refused) -> Self {
        match refused {
            Refused::NotFound => unknown(),
            Refused::NotTheirs => not_theirs(),
            Refused::Ended(refused) => Self::new(Code::OrderStateConflict, refused.to_string()),
        }
    }
}

impl Command for CancelOrder<'_> {
    const NAME: &'static str = "cancel_order";
    type Reads = Get<Order>;
    type Output = Revision<Order>;
    type Refusal = Refused;

    fn reads(&self) -> Get<Order> {
        Order::by_id(self.id)
    }

    fn decide(&self, order: Option<Stored<Order>>, ctx: &Context) -> Result<Commit<Revision<Order>>, Refused> {
        let order = order.filter(|order| is_visible(self.caller, order)).ok_or(Refused::NotFound)?;
        if !self.caller.may(Scope::CommandsWrite) && !self.caller.is(Audience::Customer, &order.customer_id) {
            return Err(Refused::NotTheirs);
        }
        Ok(order::cancel(&order, CancelReason::Requested, ctx)?)
    }
}
