//! The application's tables, on the kernel: entities, reads and conditional writes. Only this crate and the kernel name
//! attributes of items.

pub mod entitlements;
pub mod recipients;
mod routes;

use belfry_aws::Table;
use belfry_aws::lambda::Start;
use belfry_aws::{BadSetting, Belfry, Builder, Config};
use domain::routing::Queue;

pub use routes::EventRoutes;

/// Starts the kernel for a function of the application: its settings with the names of its consumers, and the routes of
/// its events. Reports each of `tables` that has no name.
pub fn belfry(start: &mut Start, tables: impl IntoIterator<Item = Table>) -> Belfry {
    let config = start.config(tables).name_consumers(consumer_of);
    let builder = builder(config, start);
    start.build(builder)
}

fn builder(config: Config, start: &mut Start) -> Builder {
    match domain::routing::Routes::load() {
        Ok(routes) => Belfry::builder(config).routes(EventRoutes(routes)),
        Err(problem) => {
            start.settings.mistake(BadSetting::new(problem.to_string()));
            Belfry::builder(config)
        }
    }
}

/// The consumer behind a queue, as processed marks and dead letters name it.
pub fn consumer_of(queue: &str) -> String {
    Queue::named(queue).map_or_else(|| queue.to_owned(), Queue::consumer)
}
