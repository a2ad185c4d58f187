//! `GET /v1/reservations/{id}`: one reservation, and how reservations are answered and read. One consistent batch get:
//! the reservation, and for staff the record that says whose they are.

use axum::Json;
use axum::extract::State;
use domain::id::{AgencyId, RestaurantId};
use domain::recipient::Recipient;
use domain::reservation::{PartySize, Reservation, ReservationStatus};
use domain::{Audience, Time, UserId};
use ledger::{Corrupt, Found, Key};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::asked::InPath;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::reservation_rights::{staff, unknown, visible};
use crate::{Api, Shared};

/// A reservation as it stands.
#[utoipa::path(
    get,
    path = "/v1/reservations/{id}",
    params(("id" = String, Path)),
    responses((status = 200, body = ReservationView), (status = 404, body = ErrorBody))
)]
pub async fn show_reservation(
    State(api): Shared,
    caller: Caller,
    InPath(id): InPath<String>,
) -> Result<Json<ReservationView>, ApiError> {
    let (id, staff) = (reservation_id(&id)?, staff(&caller));
    let found = api.commands.ledger.get_all(&api.reservation_reads(&id, staff.as_ref())).await?;
    let (reservation, record) = api.reservation_among(&found, &id, staff.as_ref())?;
    let reservation = visible(&caller, record.as_ref(), reservation.as_ref())?;
    Ok(Json(ReservationView::of(reservation)))
}

/// What is no id is nobody's id.
pub fn reservation_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::parse_str(text).map_err(|_| unknown())
}

impl Api {
    /// The items that say how a reservation stands and whose staff the caller is.
    pub fn reservation_reads(&self, id: &Uuid, staff: Option<&(Audience, UserId)>) -> Vec<Key> {
        let record = staff.map(|(audience, user_id)| self.recipients.key(*audience, user_id));
        [self.reservations.key(id)].into_iter().chain(record).collect()
    }

    /// Makes sense of those items.
    pub fn reservation_among(
        &self,
        found: &Found,
        id: &Uuid,
        staff: Option<&(Audience, UserId)>,
    ) -> Result<(Option<Reservation>, Option<Recipient>), Corrupt> {
        let record = match staff {
            Some((audience, user_id)) => self.recipients.among(found, *audience, user_id)?,
            None => None,
        };
        Ok((self.reservations.among(found, id)?, record))
    }
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
    /// The view of a reservation.
    pub fn of(reservation: &Reservation) -> Self {
        let asked = reservation.asked.clone();
        Self {
            reservation_id: reservation.reservation_id,
            customer_id: asked.customer_id,
            restaurant_id: asked.restaurant_id,
            agency_id: asked.agency_id,
            party_size: asked.party_size,
            slot_time: asked.slot_time,
            status: reservation.status,
            decided_by: reservation.decided_by.clone(),
            version: reservation.version,
            created_at: reservation.created_at,
            updated_at: reservation.updated_at,
        }
    }
}
