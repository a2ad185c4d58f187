//! Reserves stock for an order, releases it when the order fails, and sells it when the order completes.
//!
//! Consumes `OrderPlaced`, `OrderCompleted`, `PaymentFailed` and `OrderCancelled`. What each does, and how it is undone, is
//! declared in [`ReserveStock`].
//!
//! Each message is one batch get (the mark, the hold and, for a placed order, the stock of its lines) and one transaction:
//! the hold under the condition of its version, each line's stock by arithmetic under the condition that there is enough
//! (and, when it is reserved, that the price is what was read), the event and the mark. At most 53 items.
//!
//! All lines of an order are reserved, or none are. Held stock is sold or released, once; `available + reserved + sold` of a
//! unit stays what it is. If the release arrives before the reservation, the hold is stored as `CLOSED` and the late
//! reservation is ignored.

use belfry_aws::lambda::Start;
use belfry_aws::tables::{EVENTS, OF_CONSUMERS};
use belfry_aws::{Consumer, Entity, Event, Saga, saga};
use domain::routing::Queue;
use domain::stock::{Hold, ReserveStock, Stock};

/// The consumer of the queue `inventory`.
pub fn function(start: &mut Start) -> Consumer<Event, Saga> {
    let tables = OF_CONSUMERS.into_iter().chain([EVENTS, Stock::TABLE, Hold::TABLE]);
    let belfry = store::belfry(start, tables);
    saga().step(ReserveStock).consumer(&belfry, Queue::Inventory.name())
}
