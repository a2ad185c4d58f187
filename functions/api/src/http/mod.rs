//! What the application's HTTP has of its own, beside `belfry-http`: who calls and with which scopes, and the error that each
//! refusal becomes.

pub mod error;
pub mod identity;
pub mod ledger;
pub mod refusal;
