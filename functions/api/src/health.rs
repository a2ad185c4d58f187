//! `GET /health`: whether the function answers. No token, no I/O.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// That it answers.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    status: &'static str,
}

/// Whether the function answers.
#[utoipa::path(get, path = "/health", security(()), responses((status = 200, body = Health)))]
pub async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}
