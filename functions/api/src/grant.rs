//! `POST /v1/entitlements/grants`: makes an entitlement ACTIVE.
//!
//! One round trip where the entitlement is new: no read before, three items, six write units. Where it exists, the
//! failed write hands it back, and one more round trip grants again or stores the refusal.

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

/// Makes an entitlement ACTIVE.
#[utoipa::path(
    post,
    path = "/v1/entitlements/grants",
    security(("jwt" = ["commands:write"])),
    request_body = EntitlementChange,
    params(("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, description = "granted, now or by an earlier request with this key", body = EntitlementView),
        (status = 409, description = "already ACTIVE, or the key was used for another request", body = ErrorBody),
    )
)]
pub async fn grant(
    State(api): Shared,
    _: Allowed<CommandsWrite>,
    keyed: Keyed,
    body: JsonBody<EntitlementChange>,
) -> Result<Response, ApiError> {
    api.change_entitlement("grant", &keyed, body, (Begin::AssumeAbsent, granted)).await
}

/// What is ACTIVE cannot be granted; what was revoked goes on with its version.
fn granted(known: Option<&Entitlement>, asked: &EntitlementChange, fresh: &Fresh) -> Result<Entitlement, ApiError> {
    let version = match known {
        None => 1,
        Some(before) => match before.status {
            EntitlementStatus::Active => return Err(ApiError::new(Code::EntitlementStateConflict, "already ACTIVE")),
            EntitlementStatus::Revoked => before.version + 1,
        },
    };
    Ok(asked.to(EntitlementStatus::Active, version, fresh))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> EntitlementChange {
        serde_json::from_value(serde_json::json!({
            "user_id": "u", "stock_keeping_unit": "sku", "reason": "PURCHASE", "purchase_id": "p",
        }))
        .expect("a body")
    }

    #[test]
    fn what_was_never_granted_begins_at_version_one() {
        let entitlement = granted(None, &asked(), &Fresh::new()).expect("granted");
        assert_eq!((entitlement.version, entitlement.status), (1, EntitlementStatus::Active));
    }

    #[test]
    fn what_is_active_cannot_be_granted_again() {
        let active = asked().to(EntitlementStatus::Active, 1, &Fresh::new());
        assert!(granted(Some(&active), &asked(), &Fresh::new()).is_err());
    }

    #[test]
    fn what_was_revoked_goes_on_with_its_version() {
        let revoked = asked().to(EntitlementStatus::Revoked, 2, &Fresh::new());
        assert_eq!(granted(Some(&revoked), &asked(), &Fresh::new()).expect("granted").version, 3);
    }
}
