//! Where the application's events go: the queues of consumers that subscribe to a type, and those of the audiences that
//! are notified.

use belfry_aws::{Destination, Event, Routes};
use domain::routing::Routes as RoutingTable;
use domain::schemas;

/// The routes of the application's events.
#[derive(Debug, Clone, Copy)]
pub struct EventRoutes(pub &'static RoutingTable);

impl Routes for EventRoutes {
    fn destinations(&self, event: &Event) -> Vec<Destination> {
        let queues = self.0.queues(&event.event_type, &event.payload);
        queues
            .map(|queue| Destination { queue: queue.name().to_owned(), attributes: queue.attributes(&event.payload) })
            .collect()
    }

    fn dataschema(&self, event_type: &str) -> Option<String> {
        schemas::id(event_type)
    }
}
