//! Table of entitlements: one item per user and unit.

use domain::entitlement::Entitlement;
use domain::{StockKeepingUnit, UserId};

use crate::Ledger;
use crate::commit::Write;
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, from_item, number, to_item};
use crate::read::{Found, Page, Query};

/// The table.
#[derive(Debug, Clone)]
pub struct Entitlements {
    table: String,
}

impl Entitlements {
    /// The table of this name.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }

    /// An entitlement's place.
    pub fn key(&self, user_id: &UserId, unit: &StockKeepingUnit) -> Key {
        Key::new(&self.table, "user_id", user_id.as_str()).and("stock_keeping_unit", unit.as_str())
    }

    /// Stores an entitlement, if the one before it (version one lower) is what stands there.
    pub fn put(&self, entitlement: &Entitlement) -> Result<Write, LedgerError> {
        let key = self.key(&entitlement.user_id, &entitlement.stock_keeping_unit);
        let item = to_item(entitlement)?;
        match entitlement.version {
            0 | 1 => Write::create(key, item),
            version => Write::put(key, item, "version = :before", [(":before", number(version - 1))]),
        }
    }

    /// The entitlement among the items that were found.
    pub fn among(
        &self,
        found: &Found,
        user_id: &UserId,
        unit: &StockKeepingUnit,
    ) -> Result<Option<Entitlement>, Corrupt> {
        found.get(&self.key(user_id, unit)).map(|item| self.parse(item.clone())).transpose()
    }

    /// A user's entitlements in the order of their units, from behind `after`.
    pub async fn of_user(
        &self,
        ledger: &Ledger,
        user_id: &UserId,
        limit: u16,
        after: Option<&str>,
    ) -> Result<Page<Entitlement>, LedgerError> {
        let partition = Key::new(&self.table, "user_id", user_id.as_str());
        let query = Query { partition, sort: "stock_keeping_unit", after, descending: false, limit };
        let page = ledger.query(&query).await?;
        let rows = page.rows.into_iter().map(|item| self.parse(item)).collect::<Result<_, _>>()?;
        Ok(Page { rows, next: page.next })
    }

    fn parse(&self, item: Item) -> Result<Entitlement, Corrupt> {
        from_item(&self.table, item)
    }
}
