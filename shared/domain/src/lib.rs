#![doc = include_str!("../README.md")]

pub mod action;
pub mod announcement;
pub mod audience;
pub mod backoff;
pub mod dead_letter;
pub mod entitlement;
pub mod event;
pub mod event_types;
pub mod id;
pub mod idempotency;
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
pub mod time;
pub mod trace;
pub mod unsubscribe;
pub mod webhook;

pub use audience::Audience;
pub use event::{Event, Fresh};
pub use id::{EventId, StockKeepingUnit, UserId};
pub use idempotency::{Caller, Fingerprint, IdempotencyKey};
pub use time::Time;
pub use trace::Trace;
