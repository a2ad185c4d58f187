//! `POST /v1/entitlements/revokes`: makes an entitlement REVOKED.
//!
//! Two round trips: one consistent batch get of entitlement and key, then the transaction of three items, six write
//! units. A replay or a key conflict ends after the first.

use axum::extract::State;
use axum::response::Response;
use domain::Fresh;
use domain::entitlement::{Entitlement, EntitlementStatus};
use ledger::command::Begin;

use crate::Shared;
use crate::answer::Keyed;
use crate::body::JsonBody;
use crate::caller::{Allowed, CommandsWrite};
use crate::change_entitlement::{EntitlementChange, EntitlementView};
use crate::error::{ApiError, Code, ErrorBody};

/// Makes an entitlement REVOKED.
#[utoipa::path(
    post,
    path = "/v1/entitlements/revokes",
    security(("jwt" = ["commands:write"])),
    request_body = EntitlementChange,
    params(("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, description = "revoked, now or by an earlier request with this key", body = EntitlementView),
        (status = 409, description = "already REVOKED, never granted, or the key was used for another request", body = ErrorBody),
    )
)]
pub async fn revoke(
    State(api): Shared,
    _: Allowed<CommandsWrite>,
    keyed: Keyed,
    body: JsonBody<EntitlementChange>,
) -> Result<Response, ApiError> {
    api.change_entitlement("revoke", &keyed, body, (Begin::Read, revoked)).await
}

/// Only what is ACTIVE can be revoked.
fn revoked(known: Option<&Entitlement>, asked: &EntitlementChange, fresh: &Fresh) -> Result<Entitlement, ApiError> {
    let refused = |message| Err(ApiError::new(Code::EntitlementStateConflict, message));
    match known {
        None => refused("never granted"),
        Some(before) => match before.status {
            EntitlementStatus::Revoked => refused("already REVOKED"),
            EntitlementStatus::Active => Ok(asked.to(EntitlementStatus::Revoked, before.version + 1, fresh)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> EntitlementChange {
        serde_json::from_value(serde_json::json!({
            "user_id": "u", "stock_keeping_unit": "sku", "reason": "REFUND", "purchase_id": "p",
        }))
        .expect("a body")
    }

    #[test]
    fn only_what_is_active_can_be_revoked() {
        let at = |status| asked().to(status, 4, &Fresh::new());
        assert!(revoked(None, &asked(), &Fresh::new()).is_err());
        assert!(revoked(Some(&at(EntitlementStatus::Revoked)), &asked(), &Fresh::new()).is_err());
        let after = revoked(Some(&at(EntitlementStatus::Active)), &asked(), &Fresh::new()).expect("revoked");
        assert_eq!((after.status, after.version), (EntitlementStatus::Revoked, 5));
    }
}
