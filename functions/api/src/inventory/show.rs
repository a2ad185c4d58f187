//! `GET /v1/inventory/{stock_keeping_unit}`: one unit. One consistent read.

use axum::Json;
use axum::extract::State;
use belfry_http::InPath;
use domain::StockKeepingUnit;
use domain::stock::Stock;

use super::StockView;
use crate::Shared;
use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, Operate};

/// A unit as it stands.
#[utoipa::path(
    get,
    path = "/v1/inventory/{stock_keeping_unit}",
    security(("jwt" = ["operate"])),
    params(("stock_keeping_unit" = String, Path)),
    responses((status = 200, body = StockView), (status = 404, body = ErrorBody))
)]
pub async fn show_stock(
    State(api): Shared,
    _: Allowed<Operate>,
    InPath(unit): InPath<String>,
) -> Result<Json<StockView>, ApiError> {
    let unknown = || ApiError::new(Code::NotFound, "no such unit");
    let unit = StockKeepingUnit::parse(unit).map_err(|_| unknown())?;
    let stock = api.belfry.get::<Stock>(&unit).await?.ok_or_else(unknown)?;
    Ok(Json(StockView::of(&stock, stock.version())))
}
