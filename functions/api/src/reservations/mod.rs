//! Reservations: tables requested at restaurants.

pub mod accept;
pub mod cancel;
pub mod reject;
pub mod request;
pub mod rights;
pub mod show;
mod step;

use belfry_aws::{Revision, Stored};
use domain::id::{AgencyId, RestaurantId};
use domain::reservation::{PartySize, Reservation, ReservationRefusal, ReservationStatus};
use domain::{Time, UserId};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::http::error::ApiError;

/// Malformed ids are 404.
fn reservation_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::parse_str(text).map_err(|_| ReservationRefusal::Unknown.into())
}

/// A reservation as it is answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReservationView {
    reservation_id: Uuid,
    #[schema(value_type = String)]
    customer_id: UserId,
    #[schema(value_type = String)]
    restaurant_id: RestaurantId,
    #[schema(value_type = Option<String>)]
    agency_id: Option<AgencyId>,
    #[schema(value_type = u64, minimum = 1, maximum = 100)]
    party_size: PartySize,
    #[schema(value_type = String, format = DateTime)]
    slot_time: Time,
    #[schema(value_type = String, example = "REQUESTED")]
    status: ReservationStatus,
    /// Whoever accepted, rejected or cancelled it.
    decided_by: Option<String>,
    version: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Time,
}

impl ReservationView {
    fn of(revision: &Revision<Reservation>) -> Self {
        Self::at(revision.version(), revision)
    }

    fn stored(stored: &Stored<Reservation>) -> Self {
        Self::at(stored.version(), stored)
    }

    fn at(version: u64, reservation: &Reservation) -> Self {
        let Reservation { reservation_id, asked, status, decided_by, created_at, updated_at } = reservation.clone();
        Self {
            reservation_id,
            customer_id: asked.customer_id,
            restaurant_id: asked.restaurant_id,
            agency_id: asked.agency_id,
            party_size: asked.party_size,
            slot_time: asked.slot_time,
            status,
            decided_by,
            version,
            created_at,
            updated_at,
        }
    }
}
