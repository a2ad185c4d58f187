//! The step that accepting, rejecting and cancelling a reservation share.
//!
//! The read brings the reservation and, for staff, the recipient record that says whose staff they are, in one batch with the
//! key: rights are decided with the rest ([`rights`](super::rights)), before anything about the status is said. A step that
//! the status does not allow is stored and replayed.

use belfry_aws::{Commit, Context, Entity, Get, Revision, Stored};
use domain::recipient::Recipient;
use domain::reservation::{Reservation, ReservationRefusal, Step};
use store::recipients::RecipientRecord;
use uuid::Uuid;

use super::rights::{may_take, staff_record, visible};
use crate::http::identity::Caller;

/// The reservation and, for staff, their record.
pub type Reads = (Get<Reservation>, Option<RecipientRecord>);

/// A step of a reservation, taken by a caller.
pub struct TakeStep<'a> {
    /// Which reservation.
    pub id: Uuid,
    /// Which step.
    pub step: Step,
    /// Who takes it.
    pub caller: &'a Caller,
}

impl TakeStep<'_> {
    /// What the decision depends on.
    pub fn reads(&self) -> Reads {
        (Reservation::by_id(self.id), staff_record(self.caller))
    }

    /// The reservation after the step, and its event.
    pub fn decide(
        &self,
        (reservation, record): (Option<Stored<Reservation>>, Option<Option<Recipient>>),
        ctx: &Context,
    ) -> Result<Commit<Revision<Reservation>>, ReservationRefusal> {
        let record = record.flatten();
        let reservation = visible(self.caller, record.as_ref(), reservation)?;
        may_take(self.caller, record.as_ref(), &reservation, self.step)?;
        let after = reservation.after(self.step, &self.caller.identity.subject, ctx.now())?;
        let after = reservation.becomes(after);
        Ok(ctx.commit().put(&after).event_with(|stamp| Reservation::event(&after, stamp)).output(after.clone()))
    }
}
