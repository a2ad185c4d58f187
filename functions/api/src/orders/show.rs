//! `GET /v1/orders/{id}`: one order with its steps. One consistent read.

use axum::Json;
use axum::extract::State;
use belfry_http::InPath;
use domain::order::Order;

use super::{OrderView, order_id, visible};
use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::Caller;

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
    let order = api.belfry.get::<Order>(order_id(&id)?).await?;
    Ok(Json(OrderView::stored(&visible(&caller, order)?)))
}
