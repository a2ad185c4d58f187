#![doc = include_str!("../README.md")]

mod account;
mod answer;
mod call;
mod error;
mod known_codes;
mod provider;

pub use account::Account;
pub use domain::order::IntentId;
pub use error::{PaymentError, Reason};
pub use provider::{CancelledIntent, Confirmed, PaymentProvider};
