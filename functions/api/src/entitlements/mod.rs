//! Entitlements: what users may use.

pub mod grant;
pub mod history;
pub mod list;
pub mod revoke;

use belfry_aws::{Revision, Timestamp};
use belfry_http::HttpError;
use domain::entitlement::{Entitlement, EntitlementStatus};
use domain::{Audience, StockKeepingUnit, UserId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::error::{ApiError, Code};
use crate::http::identity::{Caller, Scope};

/// An entitlement as it is answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntitlementView {
    #[schema(value_type = String)]
    user_id: UserId,
    #[schema(value_type = String)]
    stock_keeping_unit: StockKeepingUnit,
    #[schema(value_type = String, example = "ACTIVE")]
    status: EntitlementStatus,
    version: u64,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl EntitlementView {
    fn of(revision: &Revision<Entitlement>) -> Self {
        let Entitlement { user_id, stock_keeping_unit, status, updated_at } = Entitlement::clone(revision);
        Self { user_id, stock_keeping_unit, status, version: revision.version(), updated_at }
    }
}

/// The user whose entitlements the caller may read: their own, or anybody's with a scope for it. A user whom the caller may
/// not read is 404.
fn readable_user(caller: &Caller, user_id: String) -> Result<UserId, ApiError> {
    let user_id = UserId::parse(user_id).map_err(|error| HttpError::field("user_id", error))?;
    let scoped = caller.may(Scope::Operate) || caller.may(Scope::CommandsWrite);
    if scoped || caller.is(Audience::Customer, &user_id) {
        return Ok(user_id);
    }
    Err(ApiError::new(Code::NotFound, "no such user"))
}
