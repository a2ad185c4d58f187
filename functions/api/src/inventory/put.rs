//! `PUT /v1/inventory/{stock_keeping_unit}`: sets how much of a unit is available, and its price.
//!
//! What is reserved and sold stays. The write depends on the version that was read, or on that of `If-Match`: an order that
//! reserves at the same moment is not overwritten. Two round trips, one write unit.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use belfry_aws::{Command, Commit, Context, Entity, Get, Keep, Refusal, Revision, Stored};
use belfry_http::{InPath, JsonBody};
use domain::StockKeepingUnit;
use domain::stock::Stock;
use serde::Deserialize;

use super::StockView;
use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::{Allowed, Operate};

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
    let command = AdjustStock { unit, wanted, if_match: if_match(&headers)? };
    let adjusted = api.belfry.run(&Context::begin().at(api.belfry.now()), &command).await?;
    let stock = adjusted?;
    Ok(Json(StockView::of(&stock, stock.version())))
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

struct AdjustStock {
    unit: StockKeepingUnit,
    wanted: Adjustment,
    if_match: Option<u64>,
}

/// The unit has another version than `If-Match` names.
#[derive(Debug, thiserror::Error)]
#[error("the version is {version} and not {expected}")]
pub struct OtherVersion {
    version: u64,
    expected: u64,
}

impl Refusal for OtherVersion {
    fn keep(&self) -> Keep {
        Keep::DoNotStore
    }
}

impl Command for AdjustStock {
    const NAME: &'static str = "adjust_stock";
    type Reads = Get<Stock>;
    type Output = Revision<Stock>;
    type Refusal = OtherVersion;

    fn reads(&self) -> Get<Stock> {
        Stock::by_id(&self.unit)
    }

    fn decide(&self, stock: Option<Stored<Stock>>, ctx: &Context) -> Result<Commit<Revision<Stock>>, OtherVersion> {
        let version = stock.as_ref().map_or(0, Stored::version);
        if let Some(expected) = self.if_match.filter(|expected| *expected != version) {
            return Err(OtherVersion { version, expected });
        }
        let Adjustment { available, unit_price, currency } = self.wanted.clone();
        let (reserved, sold) = stock.as_ref().map_or((0, 0), |stock| (stock.reserved, stock.sold));
        let stock_keeping_unit = self.unit.clone();
        let next = Stock { stock_keeping_unit, available, reserved, sold, unit_price, currency, updated_at: ctx.now() };
        let next = Revision::of(stock.as_ref(), next);
        Ok(ctx.commit().put(&next).output(next))
    }
}
