//! Which versions of an aggregate have an event. The index lags by moments: who misses something looks again.

use domain::{EventId, Time};

use super::Survey;
use crate::Events;
use crate::error::LedgerError;
use crate::events::Trail;

/// How many events one query asks for; what is left of a MiB of answer ends it sooner.
const PAGE: u16 = 1_000;

/// The event of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The aggregate's version after it; none where the event is not one of a version.
    pub version: Option<u64>,
    /// The event.
    pub event_id: EventId,
    /// When it happened.
    pub occurred_at: Time,
}

impl Survey {
    /// The events of an aggregate of ours, newest first.
    pub async fn versions(&self, aggregate_type: &str, aggregate_id: &str) -> Result<Vec<Version>, LedgerError> {
        let aggregate = (aggregate_type.to_owned(), aggregate_id.to_owned());
        let events = Events::new(self.events.name());
        let mut versions = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let from = after.as_deref().and_then(|place| place.split_once('#'));
            let page = events.of_aggregate(&self.ledger, Trail::Own(&aggregate), PAGE, from).await?;
            versions.extend(page.rows.into_iter().map(|past| Version {
                version: past.version,
                event_id: past.event_id,
                occurred_at: past.occurred_at,
            }));
            after = page.next;
            if after.is_none() {
                return Ok(versions);
            }
        }
    }
}
