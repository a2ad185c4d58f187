//! Compares the events of an aggregate with its version. Some types report every version, others only some.

use std::collections::BTreeMap;

use domain::Time;
use ledger::LedgerError;
use ledger::survey::{Survey, Version};

use crate::check::Notes;
use crate::finding::Invariant;
use crate::terms::Terms;

/// The events of one aggregate.
#[derive(Debug, Default)]
pub(crate) struct Lineage(pub Vec<Version>);

/// What an aggregate demands of its events.
#[derive(Debug)]
pub(crate) struct Reported {
    pub version: u64,
    /// Versions that must have an event, and the earliest time of each. An event that may have expired is not missed.
    pub due: Vec<(u64, Time)>,
    /// Whether every version must have an event.
    pub every: bool,
}

impl Lineage {
    /// Reads the events of an aggregate.
    pub async fn read(survey: &Survey, kind: &str, id: &str) -> Result<Self, LedgerError> {
        survey.versions(kind, id).await.map(Self)
    }

    /// Whether there is an event of this version.
    pub fn at(&self, version: u64) -> Option<&Version> {
        self.0.iter().find(|event| event.version == Some(version))
    }

    /// Checks that there is one event per version, none missing and none ahead of the aggregate.
    pub fn check(&self, reported: &Reported, terms: &Terms, now: Time, notes: &mut Notes) {
        let mut broken = |expected: String, found: String| notes.broken(Invariant::OneEventPerVersion, expected, found);
        let mut by_version: BTreeMap<u64, Vec<&Version>> = BTreeMap::new();
        for event in &self.0 {
            if let Some(version) = event.version {
                by_version.entry(version).or_default().push(event);
            }
        }
        for (version, events) in &by_version {
            if events.len() > 1 {
                let ids: Vec<&str> = events.iter().map(|event| event.event_id.as_str()).collect();
                broken(format!("one event of version {version}"), ids.join(" and "));
            }
            if *version > reported.version {
                let event_id = &events[0].event_id;
                broken(format!("version {}", reported.version), format!("event {event_id} of version {version}"));
            }
        }
        for (version, at) in &reported.due {
            if !by_version.contains_key(version) && terms.keeps_event(*at, now) {
                broken(format!("an event of version {version}"), "none".to_owned());
            }
        }
        if !reported.every {
            return;
        }
        // An event may expire before an older one that was published later, so only events after one that must still
        // exist are missed.
        let there: Vec<(&u64, &Version)> = by_version.iter().map(|(version, events)| (version, events[0])).collect();
        for pair in there.windows(2) {
            let [(low, event), (high, _)] = pair else { continue };
            if **high - **low > 1 && terms.keeps_event(event.occurred_at, now) {
                broken(format!("events of versions {} to {}", *low + 1, *high - 1), "none".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::EventId;

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn terms() -> Terms {
        Terms { grace: DAY, since: None, events_kept: Some(DAY * 400), marks_kept: DAY * 30, notifications_kept: None }
    }

    fn lineage(versions: &[u64], at: Time) -> Lineage {
        let event = |(n, version): (usize, &u64)| Version {
            version: Some(*version),
            event_id: EventId::parse(format!("e-{n}")).expect("an id"),
            occurred_at: at,
        };
        Lineage(versions.iter().enumerate().map(event).collect())
    }

    fn broken(versions: &[u64], at: Time, reported: &Reported) -> Vec<(String, String)> {
        let mut notes = Notes::default();
        lineage(versions, at).check(reported, &terms(), Time::now(), &mut notes);
        notes.broken.into_iter().map(|broken| (broken.expected, broken.found)).collect()
    }

    fn pair(expected: &str, found: &str) -> Vec<(String, String)> {
        vec![(expected.to_owned(), found.to_owned())]
    }

    #[test]
    fn one_event_for_each_version_up_to_the_aggregates_own() {
        let now = Time::now();
        let reported = Reported { version: 3, due: vec![(1, now), (3, now)], every: true };
        assert_eq!(broken(&[1, 2, 3], now, &reported), []);
        assert_eq!(broken(&[1, 3], now, &reported), pair("events of versions 2 to 2", "none"));
        assert_eq!(broken(&[1, 2], now, &reported), pair("an event of version 3", "none"));
        assert_eq!(broken(&[1, 2, 2, 3], now, &reported), pair("one event of version 2", "e-1 and e-2"));
        assert_eq!(broken(&[1, 2, 3, 4], now, &reported), pair("version 3", "event e-3 of version 4"));
    }

    #[test]
    fn what_may_have_expired_is_not_missed() {
        let (now, old) = (Time::now(), Time::now().minus(DAY * 401));
        let reported = Reported { version: 5, due: vec![(1, old), (5, now)], every: true };
        assert_eq!(broken(&[4, 5], now, &reported), []);
        let out_of_order = Reported { version: 3, due: vec![(1, old), (3, old)], every: true };
        assert_eq!(broken(&[1, 3], old, &out_of_order), []);
    }

    #[test]
    fn a_kind_that_reports_some_versions_may_have_gaps() {
        let now = Time::now();
        assert_eq!(broken(&[1, 3], now, &Reported { version: 4, due: vec![(1, now)], every: false }), []);
    }
}
