#![doc = include_str!("../README.md")]

pub mod action;
pub mod announcement;
pub mod audience;
pub mod dead_letter;
pub mod entitlement;
pub mod event;
pub mod event_types;
pub mod id;
pub mod live;
pub mod notification;
pub mod order;
pub mod payment;
pub mod recipient;
pub mod reservation;
pub mod routing;
pub mod schemas;
pub mod send;
pub mod stock;
pub mod unsubscribe;
pub mod webhook;

pub use audience::Audience;
pub use belfry_core::{Backoff, Caller, EventId, Fingerprint, IdempotencyKey, NotAKey, Trace};
// The type's name before the kernel had a crate of its own.
pub use belfry_core::{Timestamp as Time, Timestamp, backoff};
pub use event::{Event, Fresh};
pub use id::{StockKeepingUnit, UserId};
