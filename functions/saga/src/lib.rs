//! The saga of an order: three services, each a Lambda of its own behind a queue of its own, that know each other by their
//! events alone.
//!
//! | event | service | effect, in one transaction with its mark and its own event |
//! |---|---|---|
//! | `OrderPlaced` | [`Inventory`] | every line reserved, prices fixed → `OrderValidated`; or none → `OrderRejected` |
//! | `OrderValidated` | [`Payment`] | charged once → `OrderPaid`; declined → `PaymentFailed` |
//! | `OrderPaid` | [`Order`] | COMPLETED → `OrderCompleted` |
//! | `OrderCompleted` | [`Inventory`] | reserved becomes sold → `StockSold` |
//! | `OrderRejected`, `PaymentFailed` | [`Order`] | FAILED → `OrderFailed` |
//! | `PaymentFailed`, `OrderCancelled` | [`Inventory`] | released → `StockReleased`; before it was reserved: CLOSED |
//! | `OrderCancelled` | [`Payment`] | refunded if charged → `PaymentRefunded`; before it began: CLOSED |
//! | `OrderValidated`, `StockSold`, `StockReleased`, `PaymentRefunded` | [`Order`] | written down |
//!
//! No service reads another's tables. Queues keep no order, so every decision goes by what stands in the service's own
//! table, and each is pure: `domain::stock`, `domain::payment`, `domain::order`.

mod inventory;
mod order;
mod payment;
mod report;

pub use inventory::Inventory;
pub use order::Order;
pub use payment::Payment;
