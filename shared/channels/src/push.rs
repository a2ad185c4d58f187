//! PUSH: one request for each installation of the app, so that each token has its own result.

mod fcm;
mod service_account;

pub use fcm::Fcm;
