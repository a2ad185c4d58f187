//! Calls to DynamoDB: transactions, reads, queries, and the retries around them.

mod attempt;
mod convert;
mod query;
mod read;
mod transact;

pub(crate) use attempt::wait;
pub use query::{Query, QueryPage, partition};
pub use transact::{Outcome, Raced};
