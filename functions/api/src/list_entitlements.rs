//! `GET /v1/users/{user_id}/entitlements`: what a user may use. One consistent query.

use axum::Json;
use axum::extract::State;
use domain::entitlement::EntitlementStatus;
use domain::{Audience, StockKeepingUnit, Time, UserId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Shared;
use crate::asked::InPath;
use crate::caller::{Caller, Scope};
use crate::error::{ApiError, Code, ErrorBody};
use crate::page::{Paging, cursor};

/// A page of a user's entitlements, in the order of their units.
#[utoipa::path(
    get,
    path = "/v1/users/{user_id}/entitlements",
    params(
        ("user_id" = String, Path),
        ("limit" = Option<u16>, Query, description = "1 to 100, 50 by default"),
        ("cursor" = Option<String>, Query, description = "next_cursor of the page before"),
    ),
    responses((status = 200, body = EntitlementList), (status = 404, body = ErrorBody))
)]
pub async fn list_entitlements(
    State(api): Shared,
    caller: Caller,
    InPath(user_id): InPath<String>,
    paging: Paging,
) -> Result<Json<EntitlementList>, ApiError> {
    let user_id = readable_user(&caller, user_id)?;
    let page = api.entitlements.of_user(&api.commands.ledger, &user_id, paging.limit, paging.after.as_deref()).await?;
    let entitlements = page.rows.into_iter().map(|entitlement| Listed {
        stock_keeping_unit: entitlement.stock_keeping_unit,
        status: entitlement.status,
        version: entitlement.version,
        updated_at: entitlement.updated_at,
    });
    Ok(Json(EntitlementList {
        user_id,
        entitlements: entitlements.collect(),
        next_cursor: page.next.as_deref().map(cursor),
    }))
}

/// The user whose entitlements the caller may read: themselves, or anybody with a scope for it. Somebody else is not
/// told from nobody.
pub fn readable_user(caller: &Caller, user_id: String) -> Result<UserId, ApiError> {
    let user_id = UserId::parse(user_id).map_err(|error| ApiError::field("user_id", error))?;
    let scoped = caller.may(Scope::Operate) || caller.may(Scope::CommandsWrite);
    if scoped || caller.is(Audience::Customer, &user_id) {
        return Ok(user_id);
    }
    Err(ApiError::new(Code::NotFound, "no such user"))
}

/// A page of a user's entitlements.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntitlementList {
    #[schema(value_type = String)]
    user_id: UserId,
    entitlements: Vec<Listed>,
    next_cursor: Option<String>,
}

/// One of a user's entitlements.
#[derive(Debug, Serialize, ToSchema)]
pub struct Listed {
    #[schema(value_type = String)]
    stock_keeping_unit: StockKeepingUnit,
    #[schema(value_type = String, example = "ACTIVE")]
    status: EntitlementStatus,
    version: u64,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Time,
}
