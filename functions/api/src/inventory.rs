//! `PUT` and `GET /v1/inventory/{stock_keeping_unit}`: how much of a unit there is, and what it costs; for operators.
//!
//! A put sets what is available and the price; what is reserved and sold stays. It is guarded by the version that it read,
//! or by that of `If-Match`: an order that reserves at the same moment is not overwritten. Two round trips.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use belfry_http::{InPath, JsonBody};
use domain::stock::Stock;
use domain::{StockKeepingUnit, Time};
use ledger::Outcome;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, Operate};
use crate::{Api, Shared};

/// How often a put without `If-Match` looks again when orders change the same unit.
const RACES: u32 = 10;

/// The most of a unit, and the most it may cost: far from where sums end.
const MOST: u64 = 1_000_000_000_000;

/// What a put says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    available: u64,
    unit_price: u64,
    currency: String,
}

/// Sets how much of a unit is available, and what it costs.
#[utoipa::path(
    put,
    path = "/v1/inventory/{stock_keeping_unit}",
    security(("jwt" = ["operate"])),
    params(("stock_keeping_unit" = String, Path), ("If-Match" = Option<u64>, Header, description = "the version that is to be changed")),
    request_body(content = Object, description = "available; unit_price in minor units, from 1; currency, as ISO 4217 writes it"),
    responses(
        (status = 200, body = StockView),
        (status = 400, body = ErrorBody),
        (status = 409, description = "ORDER_STATE_CONFLICT: another version than If-Match names", body = ErrorBody),
    )
)]
pub async fn put_stock(
    State(api): Shared,
    _: Allowed<Operate>,
    InPath(unit): InPath<String>,
    headers: HeaderMap,
    body: JsonBody<Adjustment>,
) -> Result<Json<StockView>, ApiError> {
    let unit = StockKeepingUnit::parse(unit).map_err(|error| ApiError::field("stock_keeping_unit", error))?;
    let wanted = body.parsed;
    check(&wanted)?;
    api.adjust(unit, &wanted, if_match(&headers)?).await.map(|stock| Json(StockView::of(&stock)))
}

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
    let stock = api.stocks.get(&api.commands.ledger, &unit).await?.ok_or_else(unknown)?;
    Ok(Json(StockView::of(&stock)))
}

fn check(wanted: &Adjustment) -> Result<(), ApiError> {
    if wanted.available > MOST {
        return Err(ApiError::field("available", "at most 1000000000000"));
    }
    if !(1..=MOST).contains(&wanted.unit_price) {
        return Err(ApiError::field("unit_price", "must be from 1 to 1000000000000, in minor units"));
    }
    let is_currency = wanted.currency.len() == 3 && wanted.currency.bytes().all(|b| b.is_ascii_uppercase());
    if is_currency { Ok(()) } else { Err(ApiError::field("currency", "must be three capital letters, such as EUR")) }
}

/// The version that is to be changed, bare or in quotes; 0 for a unit that is not there yet.
fn if_match(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let Some(value) = headers.get("if-match") else { return Ok(None) };
    let version = value.to_str().ok().and_then(|text| text.trim().trim_matches('"').parse().ok());
    version.map(Some).ok_or_else(|| ApiError::field("If-Match", "must be a version"))
}

impl Api {
    async fn adjust(
        &self,
        unit: StockKeepingUnit,
        wanted: &Adjustment,
        if_match: Option<u64>,
    ) -> Result<Stock, ApiError> {
        let ledger = &self.commands.ledger;
        for _ in 0..RACES {
            let before = self.stocks.get(ledger, &unit).await?;
            let version = before.as_ref().map_or(0, |stock| stock.version);
            if let Some(expected) = if_match.filter(|expected| *expected != version) {
                let message = format!("the version is {version} and not {expected}");
                return Err(ApiError::new(Code::OrderStateConflict, message));
            }
            let (reserved, sold) = before.map_or((0, 0), |stock| (stock.reserved, stock.sold));
            let next = Stock {
                stock_keeping_unit: unit.clone(),
                available: wanted.available,
                reserved,
                sold,
                unit_price: wanted.unit_price,
                currency: wanted.currency.clone(),
                updated_at: Time::now(),
                version: version + 1,
            };
            if matches!(ledger.commit(&[self.stocks.put(&next)?]).await?, Outcome::Committed) {
                return Ok(next);
            }
        }
        Err(ApiError::new(Code::Contended, "orders keep changing this unit"))
    }
}

/// A unit as it is answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct StockView {
    #[schema(value_type = String)]
    stock_keeping_unit: StockKeepingUnit,
    available: u64,
    reserved: u64,
    sold: u64,
    unit_price: u64,
    currency: String,
    version: u64,
}

impl StockView {
    fn of(stock: &Stock) -> Self {
        Self {
            stock_keeping_unit: stock.stock_keeping_unit.clone(),
            available: stock.available,
            reserved: stock.reserved,
            sold: stock.sold,
            unit_price: stock.unit_price,
            currency: stock.currency.clone(),
            version: stock.version,
        }
    }
}
