//! A library's loans on the kernel: an idempotent HTTP command, a plain handler made idempotent, and a consumer.
//!
//! `template.yaml` deploys them with the kernel's relay, sweeper and recorder of dead letters.

mod borrow;
mod remind;
mod suggest;

use belfry_aws::lambda::Start;
use belfry_aws::{Belfry, Destination, Entity, Event, Payload, tables};
use belfry_http::axum::routing::post;
use belfry_http::axum::{Router, middleware};
use belfry_http::{JwtCaller, context};

pub use borrow::{BookBorrowed, Copy};
pub use remind::{Reminder, reminders};
pub use suggest::Suggestion;

/// Where events go.
pub fn routes(event: &Event) -> Vec<Destination> {
    if event.event_type == BookBorrowed::TYPE { vec!["reminders".into()] } else { Vec::new() }
}

/// The HTTP API.
pub fn api(start: &mut Start) -> Router {
    let config = start.config(tables::OF_COMMANDS.into_iter().chain([Copy::TABLE, Suggestion::TABLE]));
    router(start.build(Belfry::builder(config).routes(routes)))
}

/// The routes of the HTTP API.
pub fn router(belfry: Belfry) -> Router {
    Router::new()
        .route("/loans", post(borrow::post))
        .route("/suggestions", post(suggest::post))
        .with_state(belfry)
        .layer(middleware::from_fn(context::<JwtCaller>))
}
