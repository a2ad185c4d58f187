//! Who may do what with a reservation.
//!
//! | caller | request | read | accept, reject | cancel |
//! |---|---|---|---|---|
//! | with `commands:write` | any | any | any | any |
//! | with `operate` | – | any | – | – |
//! | CUSTOMER | for themselves | their own | – | their own |
//! | RESTAURANT_USER | – | their restaurant's | their restaurant's | their restaurant's |
//! | AGENCY_USER | for their agency | their agency's | – | their agency's |
//!
//! Permissions depend on which party the caller belongs to. For staff, the recipient record says so and not the token: it
//! holds from the moment it is put. A reservation that the caller may not see is 404; a step that is not theirs, on one that
//! they may see, is 403. Neither is stored under the key: a stored 404 would be replayed even after the record of a new
//! member of staff is put. A stored response is replayed to its caller without another check: it says nothing that they do
//! not know.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use domain::Audience;
use domain::recipient::Recipient;
use domain::reservation::{Reservation, ReservationRefusal, ReservationRequest, Step};
use store::recipients::{RecipientRecord, by_id};

use crate::http::error::ApiError;
use crate::http::identity::{Caller, Scope};

/// The recipient record that says whose staff the caller is, if their permissions depend on it.
pub fn staff_record(caller: &Caller) -> Option<RecipientRecord> {
    match caller.user_type? {
        Audience::RestaurantUser | Audience::AgencyUser if !caller.may(Scope::CommandsWrite) => {
            let (audience, user_id) = caller.as_user().ok()?;
            Some(by_id(audience, &user_id))
        }
        _ => None,
    }
}

/// A caller who may request a reservation, if it is the right one. As an extractor it refuses everybody else before
/// anything else of the request is read.
#[derive(Debug)]
pub struct MayRequest(
    /// Who calls.
    pub Caller,
);

impl<S: Sync> FromRequestParts<S> for MayRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let may_for_some = matches!(caller.user_type, Some(Audience::Customer | Audience::AgencyUser));
        if may_for_some || caller.may(Scope::CommandsWrite) {
            return Ok(Self(caller));
        }
        Err(ReservationRefusal::NotAllowed.into())
    }
}

/// Whether the caller may request this.
pub fn may_request(
    caller: &Caller,
    record: Option<&Recipient>,
    asked: &ReservationRequest,
) -> Result<(), ReservationRefusal> {
    let allowed = caller.may(Scope::CommandsWrite)
        || match caller.user_type {
            Some(Audience::Customer) => caller.is(Audience::Customer, &asked.customer_id),
            Some(Audience::AgencyUser) => is_of_agency(record, asked),
            Some(Audience::RestaurantUser | Audience::AdminUser) | None => false,
        };
    if allowed { Ok(()) } else { Err(ReservationRefusal::NotAllowed) }
}

/// The reservation, if the caller may see it.
pub fn visible<R: Deref<Target = Reservation>>(
    caller: &Caller,
    record: Option<&Recipient>,
    reservation: Option<R>,
) -> Result<R, ReservationRefusal> {
    let reads_all = caller.may(Scope::CommandsWrite) || caller.may(Scope::Operate);
    reservation
        .filter(|reservation| reads_all || concerns(caller, record, &reservation.asked))
        .ok_or(ReservationRefusal::Unknown)
}

/// Whether the caller may take the step on what they may see.
pub fn may_take(
    caller: &Caller,
    record: Option<&Recipient>,
    reservation: &Reservation,
    step: Step,
) -> Result<(), ReservationRefusal> {
    let theirs = match step {
        Step::Accept | Step::Reject => caller.user_type == Some(Audience::RestaurantUser),
        Step::Cancel => true,
    };
    if caller.may(Scope::CommandsWrite) || theirs && concerns(caller, record, &reservation.asked) {
        return Ok(());
    }
    Err(ReservationRefusal::NotAllowed)
}

/// Whether the caller belongs to one of the reservation's three parties.
fn concerns(caller: &Caller, record: Option<&Recipient>, asked: &ReservationRequest) -> bool {
    match caller.user_type {
        Some(Audience::Customer) => caller.is(Audience::Customer, &asked.customer_id),
        Some(Audience::RestaurantUser) => {
            record.is_some_and(|record| record.details.restaurant_id.as_ref() == Some(&asked.restaurant_id))
        }
        Some(Audience::AgencyUser) => is_of_agency(record, asked),
        Some(Audience::AdminUser) | None => false,
    }
}

/// Neither a reservation without an agency nor a person without one belongs to any.
fn is_of_agency(record: Option<&Recipient>, asked: &ReservationRequest) -> bool {
    let theirs = record.and_then(|record| record.details.agency_id.as_ref());
    theirs.is_some_and(|theirs| asked.agency_id.as_ref() == Some(theirs))
}
