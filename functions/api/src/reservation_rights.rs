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
//! Whose staff somebody is stands in their recipient record and not in the token: it holds from the moment it is put.
//! What a caller may not see is not told from what is not there (404); a step that is not theirs on what they may see is
//! 403. Neither is stored under the key: a 404 that was would answer for the reservation even after the record of a
//! new member of staff is put. An answer that is stored is replayed to its caller without being judged again: it
//! tells them nothing that they have not been told.

use domain::recipient::Recipient;
use domain::reservation::{Reservation, ReservationRequest, Step};
use domain::{Audience, UserId};

use crate::caller::{Caller, Scope};
use crate::error::{ApiError, Code};

/// The recipient record that says whose staff the caller is, where their rights depend on it.
pub fn staff(caller: &Caller) -> Option<(Audience, UserId)> {
    match caller.user_type? {
        Audience::RestaurantUser | Audience::AgencyUser if !caller.may(Scope::CommandsWrite) => caller.as_user().ok(),
        _ => None,
    }
}

/// A caller who may request a reservation, if it is the right one. As an extractor it refuses everybody else before
/// anything of the request is looked at.
#[derive(Debug)]
pub struct MayRequest;

impl<S: Sync> axum::extract::FromRequestParts<S> for MayRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let kind = matches!(caller.user_type, Some(Audience::Customer | Audience::AgencyUser));
        if kind || caller.may(Scope::CommandsWrite) { Ok(Self) } else { Err(scope_is_missing()) }
    }
}

/// Whether the caller may request this.
pub fn may_request(caller: &Caller, record: Option<&Recipient>, asked: &ReservationRequest) -> Result<(), ApiError> {
    let allowed = caller.may(Scope::CommandsWrite)
        || match caller.user_type {
            Some(Audience::Customer) => caller.is(Audience::Customer, &asked.customer_id),
            Some(Audience::AgencyUser) => is_of_agency(record, asked),
            Some(Audience::RestaurantUser | Audience::AdminUser) | None => false,
        };
    if allowed { Ok(()) } else { Err(scope_is_missing()) }
}

/// The reservation, if the caller may see it.
pub fn visible<'a>(
    caller: &Caller,
    record: Option<&Recipient>,
    reservation: Option<&'a Reservation>,
) -> Result<&'a Reservation, ApiError> {
    let reads_all = caller.may(Scope::CommandsWrite) || caller.may(Scope::Operate);
    reservation.filter(|reservation| reads_all || concerns(caller, record, &reservation.asked)).ok_or_else(unknown)
}

/// Whether the caller may take the step on what they may see.
pub fn may_take(
    caller: &Caller,
    record: Option<&Recipient>,
    reservation: &Reservation,
    step: Step,
) -> Result<(), ApiError> {
    let theirs = match step {
        Step::Accept | Step::Reject => caller.user_type == Some(Audience::RestaurantUser),
        Step::Cancel => true,
    };
    if caller.may(Scope::CommandsWrite) || theirs && concerns(caller, record, &reservation.asked) {
        return Ok(());
    }
    Err(scope_is_missing())
}

/// The answer for what is not there, or not there for this caller.
pub fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "no such reservation")
}

/// Whether the caller is one of the reservation's three sides.
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

fn scope_is_missing() -> ApiError {
    let scope = Scope::CommandsWrite.as_str();
    ApiError::new(Code::Forbidden, format!("not for this caller: the scope {scope} is missing"))
}
