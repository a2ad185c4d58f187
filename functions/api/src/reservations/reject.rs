//! `POST /v1/reservations/{id}/reject`: rejects a requested reservation.
//!
//! Two round trips, six write units: see [`step`](super::step).

use axum::extract::State;
use belfry_aws::{Command, Commit, Context, Found, Revision};
use belfry_http::{Answer, InPath, KeyedNoBody};
use domain::reservation::{Reservation, ReservationRefusal, Step};

use super::step::{Reads, TakeStep};
use super::{ReservationView, reservation_id};
use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::Caller;
use crate::http::refusal::respond;

/// Says no.
#[utoipa::path(
    post,
    path = "/v1/reservations/{id}/reject",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, body = ReservationView),
        (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody),
        (status = 409, description = "RESERVATION_STATE_CONFLICT", body = ErrorBody),
    )
)]
pub async fn reject_reservation(
    State(api): Shared,
    caller: Caller,
    InPath(id): InPath<String>,
    KeyedNoBody(request): KeyedNoBody,
) -> Result<Answer, ApiError> {
    let command = Reject(TakeStep { id: reservation_id(&id)?, step: Step::Reject, caller: &caller });
    Ok(api.belfry.execute(&request, &command, respond(200, ReservationView::of)).await?.into())
}

struct Reject<'a>(TakeStep<'a>);

impl Command for Reject<'_> {
    const NAME: &'static str = "reject_reservation";
    type Reads = Reads;
    type Output = Revision<Reservation>;
    type Refusal = ReservationRefusal;

    fn reads(&self) -> Reads {
        self.0.reads()
    }

    fn decide(&self, found: Found<Self>, ctx: &Context) -> Result<Commit<Self::Output>, ReservationRefusal> {
        self.0.decide(found, ctx)
    }
}
