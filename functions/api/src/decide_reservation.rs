//! `POST /v1/reservations/{id}/accept`, `/reject` and `/cancel`: the steps of a reservation.
//!
//! Two round trips, six write units. The read before brings the reservation, the key and, for staff, the recipient
//! record that says whose they are, in one batch: who may is decided with the rest (`reservation_rights`), before
//! anything of the state is told. A step that the state does not allow is stored and replayed.

use axum::extract::State;
use axum::response::Response;
use domain::recipient::Recipient;
use domain::reservation::{Reservation, Step};
use domain::{Audience, Fresh, Trace, UserId};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Found, Key, LedgerError};
use uuid::Uuid;

use crate::answer::Keyed;
use crate::asked::InPath;
use crate::body::NoBody;
use crate::caller::Caller;
use crate::error::{ApiError, Code, ErrorBody};
use crate::reservation_rights::{may_take, staff, visible};
use crate::show_reservation::{ReservationView, reservation_id};
use crate::{Api, Shared};

/// Keeps the table.
#[utoipa::path(
    post,
    path = "/v1/reservations/{id}/accept",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, body = ReservationView),
        (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody),
        (status = 409, description = "RESERVATION_STATE_CONFLICT", body = ErrorBody),
    )
)]
pub async fn accept_reservation(
    State(api): Shared,
    InPath(id): InPath<String>,
    keyed: Keyed,
    body: NoBody,
) -> Result<Response, ApiError> {
    api.decide_reservation("accept_reservation", &id, &keyed, body, Step::Accept).await
}

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
    InPath(id): InPath<String>,
    keyed: Keyed,
    body: NoBody,
) -> Result<Response, ApiError> {
    api.decide_reservation("reject_reservation", &id, &keyed, body, Step::Reject).await
}

/// Calls it off.
#[utoipa::path(
    post,
    path = "/v1/reservations/{id}/cancel",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, body = ReservationView),
        (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody),
        (status = 409, description = "RESERVATION_STATE_CONFLICT", body = ErrorBody),
    )
)]
pub async fn cancel_reservation(
    State(api): Shared,
    InPath(id): InPath<String>,
    keyed: Keyed,
    body: NoBody,
) -> Result<Response, ApiError> {
    api.decide_reservation("cancel_reservation", &id, &keyed, body, Step::Cancel).await
}

impl Api {
    async fn decide_reservation(
        &self,
        name: &'static str,
        id: &str,
        keyed: &Keyed,
        body: NoBody,
        step: Step,
    ) -> Result<Response, ApiError> {
        let request = keyed.with_body(&body.json)?;
        let command = DecideReservation {
            id: reservation_id(id)?,
            step,
            caller: &keyed.caller,
            staff: staff(&keyed.caller),
            trace: &keyed.trace,
            api: self,
        };
        self.execute(name, &request, &command).await
    }
}

struct DecideReservation<'a> {
    id: Uuid,
    step: Step,
    caller: &'a Caller,
    staff: Option<(Audience, UserId)>,
    trace: &'a Trace,
    api: &'a Api,
}

impl DecideReservation<'_> {
    /// The reservation, if this step of it is the caller's to take.
    fn theirs<'k>(&self, known: &'k (Option<Reservation>, Option<Recipient>)) -> Result<&'k Reservation, ApiError> {
        let (reservation, record) = (known.0.as_ref(), known.1.as_ref());
        let reservation = visible(self.caller, record, reservation)?;
        may_take(self.caller, record, reservation, self.step)?;
        Ok(reservation)
    }
}

impl Command for DecideReservation<'_> {
    type Known = (Option<Reservation>, Option<Recipient>);

    fn begin(&self) -> Begin {
        Begin::Read
    }

    fn reads(&self) -> Vec<Key> {
        self.api.reservation_reads(&self.id, self.staff.as_ref())
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        self.api.reservation_among(found, &self.id, self.staff.as_ref())
    }

    fn decide(&self, known: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        let reservation = match self.theirs(known) {
            Ok(reservation) => reservation,
            Err(refusal) => return Ok(Decision::Decline(refusal.into_answer()?)),
        };
        let by = &self.caller.identity.subject;
        match reservation.after(self.step, by, fresh) {
            Err(refused) => {
                let refusal = ApiError::new(Code::ReservationStateConflict, refused.to_string());
                Ok(Decision::Refuse(refusal.into_answer()?))
            }
            Ok(next) => {
                let mut event = next.changed(fresh, by)?;
                event.traceparent = Some(self.trace.clone());
                Ok(Decision::Commit {
                    writes: vec![self.api.reservations.put(&next)?],
                    events: vec![event],
                    answer: Answer::json(200, &ReservationView::of(&next))?,
                })
            }
        }
    }
}
