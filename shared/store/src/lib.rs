//! The application's tables, on the kernel: entities, reads and conditional writes. Only this crate and the kernel name
//! attributes of items.

pub mod connections;
pub mod delivery_job;
pub mod entitlements;
pub mod event_notifications;
pub mod group_reads;
pub mod inboxes;
pub mod live_tickets;
pub mod metrics;
pub mod notifications;
pub mod orders;
mod partition;
pub mod recipients;
mod routes;
pub mod sends;

use std::time::Duration;

use belfry_aws::Table;
use belfry_aws::lambda::Start;
use belfry_aws::{BadSetting, Belfry, Builder, Config, Settings};
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

/// `BELFRY_NOTIFICATION_RETENTION`: how long notifications and ended sends are kept. `None` keeps them forever.
pub fn notification_retention(settings: &mut Settings) -> Option<Duration> {
    let day = Duration::from_secs(86_400);
    let retention = settings.duration("BELFRY_NOTIFICATION_RETENTION", day * 30, day);
    settings.flag("BELFRY_RETENTION_ENABLED", true).then_some(retention)
}

/// The consumer behind a queue, as processed marks and dead letters name it.
pub fn consumer_of(queue: &str) -> String {
    Queue::named(queue).map_or_else(|| queue.to_owned(), Queue::consumer)
}
