//! The harness of the tests and tools: engines and a stack of their own, proxies that break calls, a stand-in for
//! Lambda's Runtime API, and a meter of what AWS would bill.

mod backends;
pub mod by_hand;
pub mod clients;
mod engines;
pub mod lambda;
pub mod mail;
pub mod meter;
mod proxy;
mod stack;
mod verified;

pub use backends::Backends;
pub use by_hand::ask_dynamodb;
pub use proxy::{Fault, Proxy};
pub use stack::{
    Answer, CUSTOMER_MAPPING, Caller, SENDS_MAPPING, STREAM_MAPPING, Stack, announcement, switched_off,
    template_without,
};
pub use verified::{terms, verified, verified_with};
