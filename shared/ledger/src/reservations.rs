//! Table of reservations: one item each.

use domain::reservation::Reservation;
use uuid::Uuid;

use crate::aggregates::{Aggregate, Aggregates, Versioned};
use crate::item::Key;

/// The table.
pub type Reservations = Aggregates<Versioned<Reservation>>;

impl Aggregate for Versioned<Reservation> {
    type Id = Uuid;

    fn key(table: &str, id: &Uuid) -> Key {
        Key::new(table, "reservation_id", id.to_string())
    }

    fn id(&self) -> Uuid {
        self.reservation_id
    }

    fn version(&self) -> u64 {
        self.version
    }
}
