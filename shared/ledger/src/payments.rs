//! Table of payments: one item per order.

use domain::payment::Payment;
use uuid::Uuid;

use crate::aggregates::{Aggregate, Aggregates};
use crate::item::Key;

/// The table.
pub type Payments = Aggregates<Payment>;

impl Aggregate for Payment {
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
}
