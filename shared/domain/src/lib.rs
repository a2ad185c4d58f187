#![doc = include_str!("../README.md")]

pub mod audience;
pub mod backoff;
pub mod entitlement;
pub mod event;
pub mod id;
pub mod idempotency;
pub mod notification;
pub mod recipient;
pub mod routing;
pub mod time;

pub use audience::Audience;
pub use event::{Event, Fresh};
pub use id::{EventId, StockKeepingUnit, UserId};
pub use idempotency::{Caller, Fingerprint, IdempotencyKey};
pub use time::Time;
