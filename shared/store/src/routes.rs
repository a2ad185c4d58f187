//! Where the application's events go: the queues of consumers that subscribe to a type, and those of the audiences that
//! are notified.

use belfry_aws::{Destination, Event, Routes};
use domain::routing::{Queue, Routes as RoutingTable};
use domain::schemas;

/// The fields of a payload that name a group, which audience queues repeat as message attributes.
const GROUPS: [&str; 2] = ["restaurant_id", "agency_id"];

/// The routes of the application's events.
#[derive(Debug, Clone, Copy)]
pub struct EventRoutes(pub &'static RoutingTable);

impl Routes for EventRoutes {
    fn destinations(&self, event: &Event) -> Vec<Destination> {
        let queues = self.0.queues(&event.event_type, &event.payload);
        queues
            .map(|queue| Destination { queue: queue.name().to_owned(), attributes: attributes(queue, event) })
            .collect()
    }

    fn dataschema(&self, event_type: &str) -> Option<String> {
        schemas::id(event_type)
    }
}

/// Messages to audience queues also name the recipient type and group.
fn attributes(queue: Queue, event: &Event) -> Vec<(String, String)> {
    let Some(audience) = queue.audience() else { return Vec::new() };
    let group = |name: &str| {
        let id = event.payload.get(name)?.as_str().filter(|id| !id.is_empty())?;
        Some((name.to_owned(), id.to_owned()))
    };
    [("recipient_type".to_owned(), audience.to_string())]
        .into_iter()
        .chain(GROUPS.into_iter().filter_map(group))
        .collect()
}
