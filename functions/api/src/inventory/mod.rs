//! The inventory: how much of a unit there is, and what it costs; for operators.

pub mod put;
pub mod show;

use domain::StockKeepingUnit;
use domain::stock::Stock;
use serde::Serialize;
use utoipa::ToSchema;

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
    fn of(stock: &Stock, version: u64) -> Self {
        Self {
            stock_keeping_unit: stock.stock_keeping_unit.clone(),
            available: stock.available,
            reserved: stock.reserved,
            sold: stock.sold,
            unit_price: stock.unit_price,
            currency: stock.currency.clone(),
            version,
        }
    }
}
