//! Publishing events: each to every subscribed queue that does not have it yet.
//!
//! The relay and the sweeper publish through this; what they do with the outcome is their own.

use std::collections::BTreeSet;

use domain::backoff::Backoff;
use domain::routing::{Queue, Routes};
use domain::{Event, Time};
use ledger::outbox::UnpublishedFate;
use runtime::{BadSetting, Settings};

use crate::queues::{Parcel, Queues, SendError};

/// The subscribed queues, and who is subscribed to what.
#[derive(Debug, Clone)]
pub struct Publisher {
    queues: Queues,
    routes: &'static Routes,
}

/// An event on its way out.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// The event.
    pub event: &'a Event,
    /// The queues that have it already.
    pub delivered_to: &'a BTreeSet<String>,
}

/// How far an event got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The queues that have it now, those of before included.
    pub delivered_to: BTreeSet<String>,
    /// Whether all of them have it; a refusal says more than a queue that is out of reach.
    pub outcome: Result<(), SendError>,
}

/// How often and how patiently an entry is tried.
#[derive(Debug, Clone, Copy)]
pub struct Persistence {
    backoff: Backoff,
    max_attempts: u32,
}

impl Persistence {
    /// Reads the backoff and `BELFRY_OUTBOX_MAX_ATTEMPTS`.
    pub fn from_settings(settings: &Settings) -> Result<Self, BadSetting> {
        Ok(Self { backoff: settings.backoff()?, max_attempts: settings.outbox_attempts()? })
    }

    /// What becomes of an entry that `attempts` counted attempts and now this error have not got out.
    pub fn decide(&self, error: &SendError, attempts: u32, now: Time, random: f64) -> UnpublishedFate {
        let next = |attempt| now.plus(self.backoff.after(attempt, random));
        match error {
            SendError::Unavailable(_) => UnpublishedFate::Postponed(next(attempts + 1)),
            SendError::Refused(_) if attempts + 1 >= self.max_attempts => UnpublishedFate::GivenUp,
            SendError::Refused(_) => UnpublishedFate::Counted(next(attempts + 1)),
        }
    }
}

impl Publisher {
    /// Reads the URL of every subscribed queue.
    pub fn new(settings: &Settings, sqs: aws_sdk_sqs::Client, routes: &'static Routes) -> Result<Self, BadSetting> {
        Ok(Self { queues: Queues::from_settings(sqs, settings, &routes.all_queues())?, routes })
    }

    /// Sends each event to its queues and says of each, in their order, how far it got.
    pub async fn publish(&self, publications: &[Publication<'_>]) -> Vec<Published> {
        let parcels: Vec<(usize, Parcel<'_>)> = publications
            .iter()
            .enumerate()
            .flat_map(|(index, publication)| {
                let event = publication.event;
                let missing = |queue: &Queue| !publication.delivered_to.contains(queue.name());
                self.routes
                    .queues(&event.event_type, &event.payload)
                    .filter(missing)
                    .map(move |queue| (index, Parcel::event(queue, event)))
            })
            .collect();
        let results = self.queues.send(&parcels.iter().map(|(_, parcel)| *parcel).collect::<Vec<_>>()).await;
        let begun = |publication: &Publication<'_>| Published {
            delivered_to: publication.delivered_to.clone(),
            outcome: Ok(()),
        };
        let mut published: Vec<Published> = publications.iter().map(begun).collect();
        for ((index, parcel), result) in parcels.into_iter().zip(results) {
            match result {
                Ok(()) => {
                    published[index].delivered_to.insert(parcel.queue.name().to_owned());
                }
                Err(error) if matches!(published[index].outcome, Err(SendError::Refused(_))) => drop(error),
                Err(error) => published[index].outcome = Err(error),
            }
        }
        published
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_counts_up_to_the_last_attempt_and_an_outage_never_does() {
        let persistence = Persistence { backoff: Backoff::default(), max_attempts: 10 };
        let now = Time::now();
        let refused = SendError::Refused("InvalidMessageContents".to_owned());
        let away = SendError::Unavailable("timed out".to_owned());
        let after = |seconds| now.plus(std::time::Duration::from_secs(seconds));
        assert_eq!(persistence.decide(&refused, 0, now, 0.5), UnpublishedFate::Counted(after(1)));
        assert_eq!(persistence.decide(&refused, 8, now, 0.5), UnpublishedFate::Counted(after(60)));
        assert_eq!(persistence.decide(&refused, 9, now, 0.5), UnpublishedFate::GivenUp);
        assert_eq!(persistence.decide(&away, 9, now, 0.5), UnpublishedFate::Postponed(after(60)));
    }
}
