#![doc = include_str!("../README.md")]

mod account;
mod answer;
mod call;
mod not_done;
mod provider;
mod words;

pub use account::Account;
/// What the provider calls the payment of an order.
pub use domain::order::IntentId;
pub use not_done::{NotDone, Reason};
pub use provider::{CancelledIntent, Confirmed, PaymentProvider};
