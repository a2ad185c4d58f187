//! `POST /v1/entitlements/grants`: makes an entitlement ACTIVE.
//!
//! One round trip where the entitlement is new: no read before, three items, six write units. Where it exists, the
//! failed write hands it back, and one more round trip grants again or stores the refusal.

use axum::extract::State;
use axum::response::Response;
use domain::entitlement::{Cause, Entitlement, EntitlementStatus};
use domain::id::{Line, PurchaseId};
use domain::{Fresh, StockKeepingUnit, Time, UserId};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Entitlements, Found, Key, LedgerError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Shared;
use crate::answer::{Keyed, respond};
use crate::body::JsonBody;
use crate::caller::Scope;
use crate::error::{ApiError, Code, ErrorBody};

/// Makes an entitlement ACTIVE.
#[utoipa::path(
    post,
    path = "/v1/entitlements/grants",
    request_body = EntitlementChange,
    params(("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, description = "granted, now or by an earlier request with this key", body = EntitlementView),
        (status = 409, description = "already ACTIVE, or the key was used for another request", body = ErrorBody),
    )
)]
pub async fn grant(State(api): Shared, keyed: Keyed, body: JsonBody<EntitlementChange>) -> Result<Response, ApiError> {
    keyed.caller.must(Scope::CommandsWrite)?;
    let request = keyed.with_body(&body.canonical);
    let grant = Grant { asked: body.parsed, actor: keyed.caller.identity.subject, entitlements: &api.entitlements };
    Ok(respond(api.commands.execute(&request, &grant).await?))
}

/// The body of a grant or a revoke.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntitlementChange {
    /// Whose entitlement.
    #[schema(value_type = String)]
    user_id: UserId,
    /// For what.
    #[schema(value_type = String)]
    stock_keeping_unit: StockKeepingUnit,
    /// Why, in the caller's words.
    #[schema(value_type = String)]
    reason: Line,
    /// Because of which purchase.
    #[schema(value_type = String)]
    purchase_id: PurchaseId,
}

/// An entitlement as it is answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntitlementView<'a> {
    #[schema(value_type = String)]
    user_id: &'a UserId,
    #[schema(value_type = String)]
    stock_keeping_unit: &'a StockKeepingUnit,
    #[schema(value_type = String, example = "ACTIVE")]
    status: EntitlementStatus,
    version: u64,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Time,
}

impl<'a> From<&'a Entitlement> for EntitlementView<'a> {
    fn from(entitlement: &'a Entitlement) -> Self {
        Self {
            user_id: &entitlement.user_id,
            stock_keeping_unit: &entitlement.stock_keeping_unit,
            status: entitlement.status,
            version: entitlement.version,
            updated_at: entitlement.updated_at,
        }
    }
}

struct Grant<'a> {
    asked: EntitlementChange,
    actor: String,
    entitlements: &'a Entitlements,
}

impl Command for Grant<'_> {
    type Known = Option<Entitlement>;

    const BEGIN: Begin = Begin::AssumeAbsent;

    fn reads(&self) -> Vec<Key> {
        vec![self.entitlements.key(&self.asked.user_id, &self.asked.stock_keeping_unit)]
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        self.entitlements.among(found, &self.asked.user_id, &self.asked.stock_keeping_unit)
    }

    fn decide(&self, known: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        match granted(known.as_ref(), &self.asked, fresh) {
            Err(refusal) => Ok(Decision::Refuse(refusal.into_answer()?)),
            Ok(entitlement) => {
                let cause = Cause { reason: self.asked.reason.clone(), purchase_id: self.asked.purchase_id.clone() };
                Ok(Decision::Commit {
                    writes: vec![self.entitlements.put(&entitlement)?],
                    event: Box::new(entitlement.changed(&cause, fresh, &self.actor)?),
                    answer: Answer::json(200, &EntitlementView::from(&entitlement))?,
                })
            }
        }
    }
}

/// What a grant makes of what is known: what is ACTIVE cannot be granted, what was revoked goes on with its version.
fn granted(known: Option<&Entitlement>, asked: &EntitlementChange, fresh: &Fresh) -> Result<Entitlement, ApiError> {
    let version = match known {
        None => 1,
        Some(before) => match before.status {
            EntitlementStatus::Active => return Err(ApiError::new(Code::EntitlementStateConflict, "already ACTIVE")),
            EntitlementStatus::Revoked => before.version + 1,
        },
    };
    Ok(Entitlement {
        user_id: asked.user_id.clone(),
        stock_keeping_unit: asked.stock_keeping_unit.clone(),
        status: EntitlementStatus::Active,
        version,
        updated_at: fresh.now,
    })
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
        let active = granted(None, &asked(), &Fresh::new()).expect("granted");
        assert!(granted(Some(&active), &asked(), &Fresh::new()).is_err());
    }

    #[test]
    fn what_was_revoked_goes_on_with_its_version() {
        let mut revoked = granted(None, &asked(), &Fresh::new()).expect("granted");
        (revoked.status, revoked.version) = (EntitlementStatus::Revoked, 2);
        assert_eq!(granted(Some(&revoked), &asked(), &Fresh::new()).expect("granted").version, 3);
    }
}
