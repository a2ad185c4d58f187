//! Which versions of an aggregate have an event. The index lags by moments: who misses something looks again.

use domain::id::compose;
use domain::{EventId, Time};
use serde::Deserialize;

use super::Survey;
use crate::attempt::{Fate, fate};
use crate::error::{Corrupt, LedgerError};
use crate::item::{from_item, text};

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

#[derive(Deserialize)]
struct Row {
    event_id: EventId,
    sequence: String,
    occurred_at: Time,
}

impl Survey {
    /// The events of an aggregate of ours in the order of their versions. One query per MiB of them.
    pub async fn versions(&self, aggregate_type: &str, aggregate_id: &str) -> Result<Vec<Version>, LedgerError> {
        let aggregate = compose(&[aggregate_type, aggregate_id]);
        let mut versions = Vec::new();
        let mut start = None;
        loop {
            let (items, next) = self
                .ledger
                .attempt(|| async {
                    let request = self
                        .ledger
                        .client
                        .query()
                        .table_name(self.events.name())
                        .index_name("by_aggregate")
                        .key_condition_expression("#aggregate = :aggregate")
                        .projection_expression("event_id, #sequence, occurred_at")
                        .expression_attribute_names("#aggregate", "aggregate")
                        .expression_attribute_names("#sequence", "sequence")
                        .expression_attribute_values(":aggregate", text(&aggregate))
                        .set_exclusive_start_key(start.clone());
                    match request.send().await {
                        Ok(output) => Fate::Done((output.items.unwrap_or_default(), output.last_evaluated_key)),
                        Err(error) => fate(&error),
                    }
                })
                .await?;
            for item in items {
                let row: Row = from_item(self.events.name(), item)?;
                versions.push(row.read(self.events.name())?);
            }
            start = next;
            if start.is_none() {
                return Ok(versions);
            }
        }
    }
}

impl Row {
    /// An event without a version is ordered by its time.
    fn read(self, table: &str) -> Result<Version, Corrupt> {
        let version = match self.sequence.parse() {
            Ok(version) => Some(version),
            Err(_) if Time::parse(&self.sequence).is_ok() => None,
            Err(error) => return Err(Corrupt::new(table, &error)),
        };
        Ok(Version { version, event_id: self.event_id, occurred_at: self.occurred_at })
    }
}
