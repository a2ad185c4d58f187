//! The saga of an order: three services, each a Lambda of its own behind a queue of its own, that know each other by their
//! events alone.
//!
//! | event | service | effect, in one transaction with its mark and its own event |
//! |---|---|---|
//! | `OrderPlaced` | [`inventory`] | every line reserved, prices fixed → `OrderValidated`; or none → `OrderRejected` |
//! | `OrderValidated` | [`payment`] | charged once → `OrderPaid`; declined → `PaymentFailed` |
//! | `OrderPaid` | [`order`] | COMPLETED → `OrderCompleted` |
//! | `OrderCompleted` | [`inventory`] | reserved becomes sold → `StockSold` |
//! | `OrderRejected`, `PaymentFailed` | [`order`] | FAILED → `OrderFailed` |
//! | `PaymentFailed`, `OrderCancelled` | [`inventory`] | released → `StockReleased`; before it was reserved: CLOSED |
//! | `OrderCancelled` | [`payment`] | refunded if charged → `PaymentRefunded`; before it began: CLOSED |
//! | `OrderValidated`, `StockSold`, `StockReleased`, `PaymentRefunded` | [`order`] | logged |
//!
//! No service reads another's tables. Queues keep no order, so every decision goes by what is stored in the service's own
//! table, and each is pure: `domain::stock`, `domain::payment`, `domain::order`.

pub mod inventory;
pub mod order;
pub mod payment;
