//! `POST /v1/reservations`: requests a table at a restaurant.
//!
//! One round trip: no read before, three items, six write units. Two for an agency's staff, because their recipient record
//! says for which agency they may request. A time that has passed is a 400 that depends on the clock: it is decided after a
//! replay has been looked for, so that a request that took effect is replayed even after its time.

use axum::extract::State;
use belfry_aws::{Command, Commit, Context, Revision};
use belfry_http::Keyed;
use domain::recipient::Recipient;
use domain::reservation::{Reservation, ReservationRefusal, ReservationRequest};
use store::recipients::RecipientRecord;

use super::ReservationView;
use super::rights::{MayRequest, may_request, staff_record};
use crate::Shared;
use crate::http::error::ErrorBody;
use crate::http::identity::Caller;
use crate::http::refusal::respond;

/// Requests a reservation.
#[utoipa::path(
    post,
    path = "/v1/reservations",
    request_body(content = Object, description = "customer_id, restaurant_id, party_size (1 to 100), slot_time (RFC 3339, in the future), agency_id where an agency asks"),
    params(("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 201, description = "requested, now or by an earlier request with this key", body = ReservationView),
        (status = 400, body = ErrorBody),
        (status = 403, description = "for another customer or agency than the caller's", body = ErrorBody),
        (status = 409, description = "the key was used for another request", body = ErrorBody),
    )
)]
pub async fn request_reservation(
    State(api): Shared,
    MayRequest(caller): MayRequest,
    Keyed { request, body }: Keyed<ReservationRequest>,
) -> belfry_http::Result {
    let command = RequestReservation { caller: &caller, asked: body };
    Ok(api.belfry.execute(&request, &command, respond(201, ReservationView::of)).await?.into())
}

struct RequestReservation<'a> {
    caller: &'a Caller,
    asked: ReservationRequest,
}

impl Command for RequestReservation<'_> {
    const NAME: &'static str = "request_reservation";
    type Reads = Option<RecipientRecord>;
    type Output = Revision<Reservation>;
    type Refusal = ReservationRefusal;

    fn reads(&self) -> Self::Reads {
        staff_record(self.caller)
    }

    fn decide(
        &self,
        record: Option<Option<Recipient>>,
        ctx: &Context,
    ) -> Result<Commit<Self::Output>, ReservationRefusal> {
        may_request(self.caller, record.flatten().as_ref(), &self.asked)?;
        let requested = Revision::new(Reservation::request(ctx.id(0), self.asked.clone(), ctx.now())?);
        let event = |stamp| Reservation::event(&requested, stamp);
        Ok(ctx.commit().put(&requested).event_with(event).output(requested.clone()))
    }
}
