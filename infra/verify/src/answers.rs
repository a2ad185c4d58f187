//! Stored responses: what they name exists.

use domain::{EventId, StockKeepingUnit, Time, UserId};
use ledger::idempotency_keys::Record;
use ledger::survey::{Seen, Survey, Whole};
use ledger::{Found, Key, LedgerError};
use serde::Deserialize;
use uuid::Uuid;

use crate::check::{Beside, Check, Notes};
use crate::finding::Invariant;
use crate::terms::Terms;

/// A stored response, what it names, and the events committed with it.
#[derive(Debug)]
pub(crate) struct AnswerCase {
    created_at: Time,
    named: Option<(Named, Beside<u64>)>,
    missing: Vec<EventId>,
}

/// What a response names, recognised by its fields. Refusals and reads name nothing that must exist.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Named {
    Order { order_id: Uuid, version: u64 },
    Reservation { reservation_id: Uuid, version: u64 },
    DeadLetter { dead_letter_id: Uuid, version: u64 },
    Entitlement { user_id: UserId, stock_keeping_unit: StockKeepingUnit, version: u64 },
}

impl Named {
    fn read(record: &Record) -> Option<Self> {
        if !(200..300).contains(&record.status) {
            return None;
        }
        serde_json::from_str(&record.body).ok()
    }

    fn key(&self, survey: &Survey) -> Key {
        match self {
            Self::Order { order_id, .. } => survey.orders.place(*order_id),
            Self::Reservation { reservation_id, .. } => survey.reservations.place(*reservation_id),
            Self::DeadLetter { dead_letter_id, .. } => survey.dead_letters.key(dead_letter_id),
            Self::Entitlement { user_id, stock_keeping_unit, .. } => {
                survey.entitlements.place((user_id, stock_keeping_unit))
            }
        }
    }

    /// The current version of what is named.
    fn standing(&self, survey: &Survey, found: &Found) -> Beside<u64> {
        let key = &self.key(survey);
        match self {
            Self::Order { .. } => Beside::of(&survey.orders, found, key).map(|row| row.version()),
            Self::Reservation { .. } => Beside::of(&survey.reservations, found, key).map(|row| row.version()),
            Self::DeadLetter { .. } => Beside::of(&survey.dead_letters, found, key).map(|row| row.version),
            Self::Entitlement { .. } => Beside::of(&survey.entitlements, found, key).map(|row| row.version()),
        }
    }

    fn version(&self) -> u64 {
        match self {
            Self::Order { version, .. }
            | Self::Reservation { version, .. }
            | Self::DeadLetter { version, .. }
            | Self::Entitlement { version, .. } => *version,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Order { order_id, version } => format!("order {order_id} of version {version} or later"),
            Self::Reservation { reservation_id, version } => {
                format!("reservation {reservation_id} of version {version} or later")
            }
            Self::DeadLetter { dead_letter_id, version } => {
                format!("dead letter {dead_letter_id} of version {version} or later")
            }
            Self::Entitlement { user_id, stock_keeping_unit, version } => {
                format!("entitlement {user_id}, {stock_keeping_unit} of version {version} or later")
            }
        }
    }

    /// Whether what was named must still exist.
    fn is_kept(&self, since: Time, terms: &Terms, now: Time) -> bool {
        match self {
            Self::Order { .. } | Self::Reservation { .. } | Self::Entitlement { .. } => true,
            Self::DeadLetter { .. } => terms.keeps_letter(since, now),
        }
    }
}

impl Check for AnswerCase {
    type Row = Record;

    fn table(survey: &Survey) -> &Whole<Record> {
        &survey.answers
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Record>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let named: Vec<Option<Named>> = rows.iter().map(|seen| Named::read(&seen.row)).collect();
        let events = rows.iter().flat_map(|seen| &seen.row.event_ids).map(|event_id| survey.event_key(event_id));
        let found = survey.read(named.iter().flatten().map(|named| named.key(survey)).chain(events)).await?;
        let case = |(seen, named): (Seen<Record>, Option<Named>)| {
            let named = named.map(|named| {
                let standing = named.standing(survey, &found);
                (named, standing)
            });
            let is_missing = |event_id: &EventId| found.get(&survey.event_key(event_id)).is_none();
            let missing = seen.row.event_ids.into_iter().filter(is_missing).collect();
            (seen.key, Self { created_at: seen.row.created_at, named, missing })
        };
        Ok(rows.into_iter().zip(named).map(case).collect())
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        if terms.keeps_event(self.created_at, now) {
            for event_id in &self.missing {
                notes.broken(Invariant::AnswerHasEffect, format!("event {event_id}"), "none");
            }
        }
        let Some((named, standing)) = &self.named else { return };
        let found = match standing {
            Beside::Row(version) if *version < named.version() => format!("version {version}"),
            Beside::Absent if named.is_kept(self.created_at, terms, now) => "none".to_owned(),
            Beside::Row(_) | Beside::Unreadable | Beside::Absent => return,
        };
        notes.broken(Invariant::AnswerHasEffect, named.words(), found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(body: &str) -> Option<String> {
        serde_json::from_str::<Named>(body).ok().map(|named| named.words())
    }

    #[test]
    fn an_answer_is_known_by_its_fields() {
        let id = "01a1e4e2-4f87-7015-8271-b149266d06e3";
        for (body, words) in [
            (
                format!(r#"{{"order_id": "{id}", "version": 2, "steps": []}}"#),
                format!("order {id} of version 2 or later"),
            ),
            (
                r#"{"user_id": "u", "stock_keeping_unit": "s", "version": 1}"#.to_owned(),
                "entitlement u, s of version 1 or later".to_owned(),
            ),
        ] {
            assert_eq!(named(&body), Some(words));
        }
        for nothing in [r#"{"read_until": "2026-01-01T00:00:00.000Z"}"#, r#"{"notification_id": "n", "event_id": "e"}"#]
        {
            assert_eq!(named(nothing), None, "{nothing}");
        }
    }
}
