//! PUSH: to one installation of an app at a time, so that each token has its own outcome.

mod fcm;
mod service_account;

pub use fcm::Fcm;
