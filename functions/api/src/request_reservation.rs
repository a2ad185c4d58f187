//! `POST /v1/reservations`: asks a restaurant for a table.
//!
//! One round trip: no read before, three items, six write units. For an agency's staff two, because their recipient
//! record says for which agency they may ask. A time that has passed is a 400 that depends on the clock: it is decided
//! where a replay has been looked for, so that a request that took effect is replayed even after its time.

use axum::extract::State;
use axum::response::Response;
use domain::recipient::Recipient;
use domain::reservation::{Reservation, ReservationRequest};
use domain::{Audience, Fresh, Trace, UserId};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Found, Key, LedgerError};
use uuid::Uuid;

use crate::answer::Keyed;
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::reservation_rights::{MayRequest, may_request, staff};
use crate::show_reservation::ReservationView;
use crate::{Api, Shared};

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
    _: MayRequest,
    keyed: Keyed,
    body: JsonBody<ReservationRequest>,
) -> Result<Response, ApiError> {
    let request = keyed.with_body(&body.json)?;
    let command = RequestReservation {
        // One id for all attempts: a decision is asked again after a lost race, and must then mean the same item.
        id: Uuid::now_v7(),
        asked: body.parsed,
        caller: &keyed.caller,
        staff: staff(&keyed.caller),
        trace: &keyed.trace,
        api: &api,
    };
    api.execute("request_reservation", &request, &command).await
}

struct RequestReservation<'a> {
    id: Uuid,
    asked: ReservationRequest,
    caller: &'a Caller,
    staff: Option<(Audience, UserId)>,
    trace: &'a Trace,
    api: &'a Api,
}

impl Command for RequestReservation<'_> {
    type Known = Option<Recipient>;

    fn begin(&self) -> Begin {
        if self.staff.is_some() { Begin::Read } else { Begin::AssumeAbsent }
    }

    fn reads(&self) -> Vec<Key> {
        self.api.reservation_reads(&self.id, self.staff.as_ref())
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        Ok(self.api.reservation_among(found, &self.id, self.staff.as_ref())?.1)
    }

    fn decide(&self, record: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        if let Err(refusal) = may_request(self.caller, record.as_ref(), &self.asked) {
            return Ok(Decision::Decline(refusal.into_answer()?));
        }
        let reservation = match Reservation::request(self.id, self.asked.clone(), fresh) {
            Ok(reservation) => reservation,
            Err(passed) => return Ok(Decision::Decline(ApiError::field("slot_time", passed).into_answer()?)),
        };
        let mut event = reservation.changed(fresh, &self.caller.identity.subject)?;
        event.traceparent = Some(self.trace.clone());
        Ok(Decision::Commit {
            writes: vec![self.api.reservations.put(&reservation)?],
            events: vec![event],
            answer: Answer::json(201, &ReservationView::of(&reservation))?,
        })
    }
}
