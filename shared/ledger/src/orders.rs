//! Table of orders: one item each. The sparse index `unsettled` holds those that have not come to their end, by when they
//! are cancelled; it only finds candidates, the version decides.

use domain::Time;
use domain::id::compose;
use domain::order::Order;
use futures_util::future::try_join_all;
use serde::Deserialize;
use uuid::Uuid;

use crate::Ledger;
use crate::aggregates::{Aggregate, Aggregates};
use crate::error::LedgerError;
use crate::item::{Item, Key, from_item, spread, text};
use crate::read::DueQuery;

/// The table.
pub type Orders = Aggregates<Order>;

/// How many partitions the index is spread over.
const SPREAD: u32 = 8;

impl Aggregate for Order {
    type Id = Uuid;

    fn key(table: &str, id: &Uuid) -> Key {
        Key::new(table, "order_id", id.to_string())
    }

    fn id(&self) -> Uuid {
        self.order_id
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn indexed(&self) -> Item {
        if self.status.is_final() {
            return Item::new();
        }
        let part = spread(&self.order_id.to_string(), SPREAD);
        Item::from([("unsettled".to_owned(), text(partition(part))), ("due_at".to_owned(), text(self.deadline_at))])
    }
}

fn partition(part: u32) -> String {
    compose(&["OPEN", &part.to_string()])
}

#[derive(Deserialize)]
struct Due {
    order_id: Uuid,
}

impl Orders {
    /// At most `limit` orders of each partition whose deadline has passed, as they stand now.
    pub async fn overdue(&self, ledger: &Ledger, now: Time, limit: u16) -> Result<Vec<Order>, LedgerError> {
        let partitions: Vec<String> = (0..SPREAD).map(partition).collect();
        let until = now.to_string();
        let queries = partitions.iter().map(|partition| {
            let index = ("unsettled", partition.as_str());
            ledger.due(DueQuery { table: self.table(), index, between: ("0", &until), limit })
        });
        let items = try_join_all(queries).await?.into_iter().flatten();
        let due: Vec<Due> = items.map(|item| from_item(self.table(), item)).collect::<Result<_, _>>()?;
        let keys: Vec<Key> = due.iter().map(|due| self.key(&due.order_id)).collect();
        let found = ledger.get_all(&keys).await?;
        let orders = due.iter().map(|due| self.among(&found, &due.order_id)).filter_map(Result::transpose);
        let orders: Vec<Order> = orders.collect::<Result<_, _>>()?;
        // The index lags: what it lists may have come to its end since.
        Ok(orders.into_iter().filter(|order| !order.status.is_final() && order.deadline_at <= now).collect())
    }
}
