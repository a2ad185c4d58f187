//! The one place that says which error each refusal becomes.

use std::convert::Infallible;

use belfry_aws::StoredResponse;
use domain::entitlement::EntitlementRefusal;
use domain::reservation::ReservationRefusal;
use serde::Serialize;

use super::error::{ApiError, Code};
use super::identity::Scope;
use crate::inventory::put::OtherVersion;
use crate::orders::OrderRefusal;

impl From<&EntitlementRefusal> for ApiError {
    fn from(refusal: &EntitlementRefusal) -> Self {
        Self::new(Code::EntitlementStateConflict, refusal.to_string())
    }
}

impl From<&ReservationRefusal> for ApiError {
    fn from(refusal: &ReservationRefusal) -> Self {
        match refusal {
            ReservationRefusal::Unknown => Self::new(Code::NotFound, refusal.to_string()),
            ReservationRefusal::NotAllowed => Self::scope_is_missing(Scope::CommandsWrite),
            ReservationRefusal::SlotHasPassed(passed) => Self::field("slot_time", passed),
            ReservationRefusal::Step(_) => Self::new(Code::ReservationStateConflict, refusal.to_string()),
        }
    }
}

impl From<&OrderRefusal> for ApiError {
    fn from(refusal: &OrderRefusal) -> Self {
        match refusal {
            OrderRefusal::Unknown => Self::new(Code::NotFound, refusal.to_string()),
            OrderRefusal::NotAllowed => Self::scope_is_missing(Scope::CommandsWrite),
            OrderRefusal::Ended(_) => Self::new(Code::OrderStateConflict, refusal.to_string()),
        }
    }
}

impl From<&OtherVersion> for ApiError {
    fn from(refusal: &OtherVersion) -> Self {
        Self::new(Code::OrderStateConflict, refusal.to_string())
    }
}

impl From<&Infallible> for ApiError {
    fn from(never: &Infallible) -> Self {
        match *never {}
    }
}

macro_rules! refused {
    ($($refusal:ty),+ $(,)?) => {$(
        impl From<$refusal> for ApiError {
            fn from(refusal: $refusal) -> Self {
                Self::from(&refusal)
            }
        }
    )+};
}

refused!(ReservationRefusal, OrderRefusal, OtherVersion);

/// Renders the output of a command with `view`, or the error that its refusal becomes.
pub fn respond<T, R, V: Serialize>(status: u16, view: impl Fn(&T) -> V) -> impl Fn(Result<&T, &R>) -> StoredResponse
where
    for<'a> ApiError: From<&'a R>,
{
    belfry_http::respond(status, view, |refusal| ApiError::from(refusal).into())
}
