//! Entitlements and reservations: an event for every version.

use domain::Time;
use domain::entitlement::{self, Entitlement};
use domain::reservation::Reservation;
use futures_util::future::try_join_all;
use ledger::survey::{Seen, Survey, Whole};
use ledger::{Key, LedgerError};

use crate::check::{Check, Notes};
use crate::lineage::{Lineage, Reported};
use crate::terms::Terms;

/// An entitlement, and its events.
#[derive(Debug)]
pub(crate) struct EntitlementCase(Entitlement, Lineage);

impl Check for EntitlementCase {
    type Row = Entitlement;

    fn table(survey: &Survey) -> &Whole<Entitlement> {
        &survey.entitlements
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Entitlement>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let cases = rows.into_iter().map(|seen| async {
            let (kind, id) = entitlement::aggregate(&seen.row.user_id, &seen.row.stock_keeping_unit);
            Ok((seen.key, Self(seen.row, Lineage::read(survey, &kind, &id).await?)))
        });
        try_join_all(cases).await
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let Self(Entitlement { version, updated_at, .. }, lineage) = self;
        // The time of the first grant is not known.
        lineage.check(
            &Reported { version: *version, due: vec![(*version, *updated_at)], every: true },
            terms,
            now,
            notes,
        );
    }
}

/// A reservation, and its events.
#[derive(Debug)]
pub(crate) struct ReservationCase(Reservation, Lineage);

impl Check for ReservationCase {
    type Row = Reservation;

    fn table(survey: &Survey) -> &Whole<Reservation> {
        &survey.reservations
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Reservation>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let cases = rows.into_iter().map(|seen| async {
            let id = seen.row.reservation_id.to_string();
            Ok((seen.key, Self(seen.row, Lineage::read(survey, Reservation::AGGREGATE, &id).await?)))
        });
        try_join_all(cases).await
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let Self(Reservation { version, created_at, updated_at, .. }, lineage) = self;
        let due = vec![(1, *created_at), (*version, *updated_at)];
        lineage.check(&Reported { version: *version, due, every: true }, terms, now, notes);
    }
}
