//! Table of entitlements: one item per user and unit.

use domain::entitlement::Entitlement;
use domain::{StockKeepingUnit, UserId};

use crate::Ledger;
use crate::aggregates::{Aggregate, Aggregates};
use crate::error::LedgerError;
use crate::item::Key;
use crate::read::Page;

/// The table.
pub type Entitlements = Aggregates<Entitlement>;

impl Aggregate for Entitlement {
    type Id = (UserId, StockKeepingUnit);

    fn key(table: &str, (user_id, unit): &Self::Id) -> Key {
        Key::new(table, "user_id", user_id.as_str()).and("stock_keeping_unit", unit.as_str())
    }

    fn id(&self) -> Self::Id {
        (self.user_id.clone(), self.stock_keeping_unit.clone())
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl Entitlements {
    /// A user's entitlements in the order of their units, from behind `after`.
    pub async fn of_user(
        &self,
        ledger: &Ledger,
        user_id: &UserId,
        limit: u16,
        after: Option<&str>,
    ) -> Result<Page<Entitlement>, LedgerError> {
        self.page(ledger, ("user_id", user_id.as_str()), "stock_keeping_unit", limit, after).await
    }
}
