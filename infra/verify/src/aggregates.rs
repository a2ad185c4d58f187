//! Entitlements and reservations: an event for every version.

use belfry_core::{Entity, Stored};
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
pub(crate) struct EntitlementCase(Stored<Entitlement>, Lineage);

impl Check for EntitlementCase {
    type Row = Stored<Entitlement>;

    fn table(survey: &Survey) -> &Whole<Stored<Entitlement>> {
        &survey.entitlements
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Stored<Entitlement>>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let cases = rows.into_iter().map(|seen| async {
            let (kind, id) = entitlement::history((&seen.row.user_id, &seen.row.stock_keeping_unit));
            Ok((seen.key, Self(seen.row, Lineage::read(survey, kind, &id).await?)))
        });
        try_join_all(cases).await
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let Self(entitlement, lineage) = self;
        // When it was first granted is not known.
        let version = entitlement.version();
        let due = vec![(version, entitlement.updated_at)];
        lineage.check(&Reported { version, due, every: true }, terms, now, notes);
    }
}

/// A reservation, and its events.
#[derive(Debug)]
pub(crate) struct ReservationCase(Stored<Reservation>, Lineage);

impl Check for ReservationCase {
    type Row = Stored<Reservation>;

    fn table(survey: &Survey) -> &Whole<Stored<Reservation>> {
        &survey.reservations
    }

    async fn beside(survey: &Survey, rows: Vec<Seen<Stored<Reservation>>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        let cases = rows.into_iter().map(|seen| async {
            let id = seen.row.reservation_id.to_string();
            Ok((seen.key, Self(seen.row, Lineage::read(survey, Reservation::KIND, &id).await?)))
        });
        try_join_all(cases).await
    }

    fn check(&self, terms: &Terms, now: Time, notes: &mut Notes) {
        let Self(reservation, lineage) = self;
        let version = reservation.version();
        let due = vec![(1, reservation.created_at), (version, reservation.updated_at)];
        lineage.check(&Reported { version, due, every: true }, terms, now, notes);
    }
}
