//! Publishing: each event to every destination that does not have it yet. The relay and the sweeper share this.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use belfry_core::{Event, Timestamp, envelope};

use super::entry::StoredEvent;
use super::queues::{OutboundMessage, SendError};
use crate::config::Config;
use crate::{Belfry, Destination};

/// An event to publish.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Publication<'a> {
    pub(crate) stored: &'a StoredEvent,
    /// The queues that have it already.
    pub(crate) delivered_to: &'a BTreeSet<String>,
}

/// How far an event got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Published {
    /// The queues that have it now, the earlier ones included.
    pub(crate) delivered_to: BTreeSet<String>,
    /// Whether all of them have it. A refusal outweighs a queue that is unavailable.
    pub(crate) outcome: Result<(), SendError>,
}

/// An attempt that did not reach every destination.
#[derive(Debug, Clone)]
pub(crate) struct Unpublished {
    pub(crate) reason: String,
    pub(crate) delivered_to: BTreeSet<String>,
    pub(crate) attempt_count: u32,
    pub(crate) outcome: UnpublishedOutcome,
}

/// What becomes of an event that did not reach every destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnpublishedOutcome {
    /// A queue was unavailable. Tried again then; the attempt does not count.
    Postponed(Timestamp),
    /// A queue refused it. Tried again then; the attempt counts.
    Counted(Timestamp),
    /// Refused too often: FAILED.
    GivenUp,
    /// Cannot be read, and no attempt will change that: FAILED.
    Unreadable,
}

/// What becomes of an event after `attempts` counted attempts and this error.
pub(crate) fn unpublished_outcome(
    config: &Config,
    error: &SendError,
    attempts: u32,
    now: Timestamp,
    random: f64,
) -> UnpublishedOutcome {
    let next = now.plus(config.backoff.after(attempts + 1, random));
    match error {
        SendError::Unavailable(_) => UnpublishedOutcome::Postponed(next),
        SendError::Refused(_) if attempts + 1 >= config.publish_attempts => UnpublishedOutcome::GivenUp,
        SendError::Refused(_) => UnpublishedOutcome::Counted(next),
    }
}

impl Belfry {
    /// Sends each event to its destinations and returns, in order, how far it got.
    pub(crate) async fn publish(&self, publications: &[Publication<'_>]) -> Vec<Published> {
        let mut published: Vec<Published> = Vec::with_capacity(publications.len());
        let mut messages: Vec<OutboundMessage> = Vec::new();
        let mut owners: Vec<usize> = Vec::new();
        for (index, Publication { stored, delivered_to }) in publications.iter().enumerate() {
            let mut outcome = Ok(());
            match self.messages(stored, delivered_to) {
                Ok(all) => {
                    owners.extend(std::iter::repeat_n(index, all.len()));
                    messages.extend(all);
                }
                Err(error) => outcome = Err(error),
            }
            published.push(Published { delivered_to: (*delivered_to).clone(), outcome });
        }
        let results = self.send(&messages).await;
        for ((index, message), result) in owners.into_iter().zip(messages).zip(results) {
            let published = &mut published[index];
            match result {
                Ok(()) => drop(published.delivered_to.insert(message.queue)),
                Err(_) if matches!(published.outcome, Err(SendError::Refused(_))) => {}
                Err(error) => published.outcome = Err(error),
            }
        }
        published
    }

    /// The messages that carry an event to the queues that do not have it yet.
    fn messages(
        &self,
        stored: &StoredEvent,
        delivered_to: &BTreeSet<String>,
    ) -> Result<Vec<OutboundMessage>, SendError> {
        let destinations = self.destinations_of(stored)?;
        let body = envelope::write(&stored.event, stored.dataschema.as_deref());
        let body = body.map_err(|error| SendError::Refused(error.to_string()))?;
        let missing = destinations.into_iter().filter(|destination| !delivered_to.contains(&destination.queue));
        Ok(missing
            .map(|Destination { queue, attributes }| OutboundMessage {
                queue,
                body: body.clone(),
                attributes: message_attributes(&stored.event).into_iter().chain(attributes).collect(),
                delay: Duration::ZERO,
            })
            .collect())
    }

    /// The committing transaction has decided. An entry that does not say goes where this release would send it; if it
    /// knows nowhere, the entry waits for a release that does, and is never marked PUBLISHED by this one.
    fn destinations_of(&self, stored: &StoredEvent) -> Result<Vec<Destination>, SendError> {
        if let Some(destinations) = &stored.destinations {
            return Ok(destinations.clone());
        }
        let destinations = self.0.routes.destinations(&stored.event);
        if destinations.is_empty() {
            let event_type = &stored.event.event_type;
            return Err(SendError::Unavailable(format!("{event_type}: the entry names no destinations")));
        }
        Ok(destinations)
    }
}

/// What a consumer or a filter needs without parsing the body.
fn message_attributes(event: &Event) -> BTreeMap<String, String> {
    let attributes = [
        ("event_id", Some(event.event_id.to_string())),
        ("event_type", Some(event.event_type.clone())),
        ("aggregate_type", Some(event.aggregate_type.clone())),
        ("aggregate_id", Some(event.aggregate_id.clone())),
        ("occurred_at", Some(event.occurred_at.to_string())),
        ("traceparent", event.traceparent.as_ref().map(ToString::to_string)),
    ];
    attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;

    #[test]
    fn refusals_count_up_to_the_last_attempt_and_outages_never_do() {
        let config = Config::new(Tables::default());
        let now = Timestamp::now();
        let refused = SendError::Refused("InvalidMessageContents".to_owned());
        let away = SendError::Unavailable("timed out".to_owned());
        let after = |seconds| now.plus(Duration::from_secs(seconds));
        let outcome = |error, attempts| unpublished_outcome(&config, error, attempts, now, 0.5);
        assert_eq!(outcome(&refused, 0), UnpublishedOutcome::Counted(after(1)));
        assert_eq!(outcome(&refused, 8), UnpublishedOutcome::Counted(after(60)));
        assert_eq!(outcome(&refused, 9), UnpublishedOutcome::GivenUp);
        assert_eq!(outcome(&away, 9), UnpublishedOutcome::Postponed(after(60)));
    }
}
