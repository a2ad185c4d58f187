//! Events: published in time, consumed by every subscriber, and reporting a change that exists.

use domain::entitlement::EntitlementChanged;
use domain::event::OutboxStatus;
use domain::{Event, Time};
use ledger::survey::{EventRow, Seen, Survey, Whole};
use ledger::{Found, Key, LedgerError};
use serde::Deserialize;
use uuid::Uuid;

use crate::check::{Beside, Check, Notes};
use crate::consumed::{Consumed, subscribed};
use crate::finding::Invariant;
use crate::terms::Terms;

/// An event, its consumers, and the aggregate that it reports.
#[derive(Debug)]
pub(crate) struct EventCase {
    row: EventRow,
    expires_at: Option<Time>,
    consumers: Vec<Consumed>,
    /// The version of its aggregate, if that has a table.
    aggregate: Option<Beside<u64>>,
}

/// The key of an event's aggregate, if that has a table.
enum AggregateKey {
    Entitlement(Key),
    Reservation(Key),
    Order(Key),
    Hold(Key),
    Payment(Key),
}

impl AggregateKey {
    fn of(survey: &Survey, event: &Event) -> Option<Self> {
        // Events from other systems have no version and no aggregate here.
        event.version?;
        let id = || Uuid::parse_str(&event.aggregate_id).ok();
        Some(match event.aggregate_type.as_str() {
            "Entitlement" => {
                let changed = EntitlementChanged::deserialize(&event.payload).ok()?;
                Self::Entitlement(survey.entitlements.place((&changed.user_id, &changed.stock_keeping_unit)))
            }
            "Reservation" => Self::Reservation(survey.reservations.place(id()?)),
            "Order" => Self::Order(survey.orders.place(id()?)),
            "Hold" => Self::Hold(survey.holds.place(id()?)),
            "Payment" => Self::Payment(survey.payments.place(id()?)),
            _ => return None,
        })
    }

    fn key(&self) -> &Key {
        match self {
            Self::Entitlement(key)
            | Self::Reservation(key)
            | Self::Order(key)
            | Self::Hold(key)
            | Self::Payment(key) => key,
        }
    }

    fn version(&self, survey: &Survey, found: &Found) -> Beside<u64> {
        match self {
            Self::Entitlement(key) => Beside::of(&survey.entitlements, found, key).map(|row| row.version()),
            Self::Reservation(key) => Beside::of(&survey.reservations, found, key).map(|row| row.version()),
            Self::Order(key) => Beside::of(&survey.orders, found, key).map(|row| row.version()),
            Self::Hold(key) => Beside::of(&survey.holds, found, key).map(|row| row.version()),
            Self::Payment(key) => Beside::of(&survey.payments, found, key).map(|row| row.version()),
        }
    }
}

impl Check for EventCase {
    type Row = EventRow;

    fn table(survey: &Survey) -> &Whole<EventRow> {
        &survey.events
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<EventRow>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let mut keys = Vec::new();
        for event in rows.iter().filter_map(|seen| seen.row.event.as_ref().ok()) {
            keys.extend(subscribed(event).into_iter().flat_map(|queue| Consumed::keys(survey, event, queue)));
            keys.extend(AggregateKey::of(survey, event).map(|aggregate| aggregate.key().clone()));
        }
        let found = survey.read(keys).await?;
        let case = |Seen { key, row, expires_at }: Seen<EventRow>| {
            let event = row.event.as_ref().ok();
            let queues = event.map(subscribed).unwrap_or_default();
            let consumers = event
                .map(|event| queues.into_iter().map(|queue| Consumed::read(survey, event, queue, &found)).collect())
                .unwrap_or_default();
            let aggregate = event
                .and_then(|event| AggregateKey::of(survey, event))
                .map(|aggregate| aggregate.version(survey, &found));
            (key, Self { row, expires_at, consumers, aggregate })
        };
        Ok(rows.into_iter().map(case).collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        self.check_outbox(terms, now, notes);
        let Ok(event) = &self.row.event else { return };
        if let (Some(aggregate), Some(version)) = (&self.aggregate, event.version) {
            let expected = || format!("{} {} of version {version} or later", event.aggregate_type, event.aggregate_id);
            match aggregate {
                Beside::Absent => notes.broken(Invariant::EventHasAggregate, expected(), "none"),
                Beside::Row(standing) if *standing < version => {
                    notes.broken(Invariant::EventHasAggregate, expected(), format!("version {standing}"));
                }
                Beside::Row(_) | Beside::Unreadable => {}
            }
        }
        if self.row.entry.status == OutboxStatus::Published && terms.is_routed(event.recorded_at) {
            let published_at = self.row.entry.published_at.unwrap_or(event.recorded_at);
            for consumed in &self.consumers {
                consumed.check((event.recorded_at, published_at), terms, now, notes);
            }
        }
    }
}

impl EventCase {
    fn check_outbox(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let entry = &self.row.entry;
        let status = entry.status.as_str();
        if entry.status != OutboxStatus::Published && self.expires_at.is_some() {
            notes.broken(Invariant::OpenNeverExpires, "no expiry before it is published", status);
        }
        let due = match entry.status {
            OutboxStatus::Published => {
                if entry.published_at.is_none() || self.row.is_listed {
                    let found = if self.row.is_listed {
                        "still in the index of unpublished entries"
                    } else {
                        "no published_at"
                    };
                    notes.broken(
                        Invariant::PublishedIsSettled,
                        "published_at, and not in the index of unpublished entries",
                        found,
                    );
                }
                None
            }
            OutboxStatus::Failed => {
                notes.waiting += 1;
                return;
            }
            OutboxStatus::Pending => Some(self.row.due_at),
            OutboxStatus::InFlight => Some(entry.lease_until),
        };
        if let Err(problem) = &self.row.event {
            notes.broken(Invariant::Readable, "an event that can be read, or FAILED", problem.problem.clone());
        }
        match due {
            None => {}
            Some(Some(due)) if self.row.is_listed && !terms.is_overdue(due, now) => notes.in_progress += 1,
            Some(due) => {
                let since = due.map_or_else(|| "no due time".to_owned(), |due| format!("due since {due}"));
                let listed = if self.row.is_listed { "" } else { ", not in the index of unpublished entries" };
                notes.broken(Invariant::OutboxInTime, "PUBLISHED", format!("{status}, {since}{listed}"));
            }
        }
    }
}
