#![doc = include_str!("../README.md")]

mod answer;
mod body;
mod context;
mod error;
mod extract;
mod identity;
mod keyed;
mod page;
mod problem;
pub mod raw_path;

use axum::Router;
use belfry_aws::lambda::{self, Start};
use tower::ServiceBuilder;
/// The crates whose types appear in signatures.
pub use {axum, belfry_aws, lambda_http};

pub use answer::{Answer, Result, respond};
pub use body::{JsonBody, LARGEST, NoBody, read};
pub use context::context;
pub use error::{Detail, ErrorCode, HttpError};
pub use extract::{InPath, InQuery};
pub use identity::{Identity, JwtCaller, jwt_claims, request_id};
pub use keyed::{Keyed, KeyedNoBody, KeyedParts};
pub use page::{Paging, bad_cursor, cursor};

/// Why a function ended.
pub type Error = lambda::Error;

/// Runs a router as a Lambda function behind an HTTP API. Use it as the whole of `main`.
///
/// # Errors
/// If a setting is missing or wrong; the error names all of them.
pub fn run(build: impl FnOnce(&mut Start) -> Router) -> std::result::Result<(), Error> {
    lambda::block_on(async {
        let mut start = Start::from_env();
        let router = build(&mut start);
        start.finish()?;
        lambda_http::run(ServiceBuilder::new().map_request(raw_path::restore).service(router)).await
    })
}
