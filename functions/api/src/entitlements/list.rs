//! `GET /v1/users/{user_id}/entitlements`: what a user may use. One consistent query.

use axum::Json;
use axum::extract::State;
use belfry_http::{InPath, Paging, cursor};
use domain::entitlement::{Entitlement, EntitlementStatus};
use domain::{StockKeepingUnit, Time, UserId};
use serde::Serialize;
use utoipa::ToSchema;

use super::readable_user;
use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::Caller;

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
    let page = store::entitlements::of_user(&api.belfry, &user_id, paging.limit, paging.after.as_deref()).await?;
    let entitlements = page.rows.into_iter().map(|stored| {
        let version = stored.version();
        let Entitlement { stock_keeping_unit, status, updated_at, .. } = stored.into_inner();
        Listed { stock_keeping_unit, status, version, updated_at }
    });
    let entitlements = entitlements.collect();
    Ok(Json(EntitlementList { user_id, entitlements, next_cursor: page.next.as_deref().map(cursor) }))
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
