//! `GET /v1/reservations/{id}`: one reservation. One consistent batch read: the reservation, and for staff the record that
//! says whose staff they are.

use axum::Json;
use axum::extract::State;
use belfry_aws::Entity;
use belfry_http::InPath;
use domain::reservation::Reservation;

use super::rights::{staff_record, visible};
use super::{ReservationView, reservation_id};
use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::Caller;

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
    let reads = (Reservation::by_id(reservation_id(&id)?), staff_record(&caller));
    let (reservation, record) = api.belfry.read(reads).await?;
    let reservation = visible(&caller, record.flatten().as_ref(), reservation)?;
    Ok(Json(ReservationView::stored(&reservation)))
}
