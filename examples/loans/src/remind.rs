//! Notes whom to remind: one reminder per loan, however often the event is delivered.

use belfry_aws::{Belfry, Consumer, Delivery, Handler, consumer, entity};
use serde::{Deserialize, Serialize};

use crate::BookBorrowed;

/// A reader has a book that is due one day.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reminder {
    /// Who.
    pub reader: String,
    /// Which copy.
    pub shelf_mark: String,
}
entity!(Reminder in "reminders" by (reader, shelf_mark));

/// The consumer of the queue `reminders`.
pub fn reminders(belfry: &Belfry) -> Consumer<BookBorrowed, impl Handler<BookBorrowed> + use<>> {
    consumer(belfry, "reminders", async |delivery: Delivery<BookBorrowed>| {
        let BookBorrowed { reader, shelf_mark } = delivery.message.clone();
        Ok(delivery.commit().create_if_absent(&Reminder { reader, shelf_mark }).into())
    })
}
