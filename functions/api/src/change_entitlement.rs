//! What granting and revoking share: the body, the answer, and the command around the decision.

use axum::response::Response;
use domain::entitlement::{Cause, Entitlement, EntitlementStatus};
use domain::id::{Line, PurchaseId};
use domain::{Fresh, StockKeepingUnit, Time, Trace, UserId};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Entitlements, Found, Key, LedgerError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::answer::Keyed;
use crate::body::JsonBody;
use crate::error::ApiError;

/// The body of a grant or a revoke.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntitlementChange {
    /// Whose entitlement.
    #[schema(value_type = String)]
    pub user_id: UserId,
    /// For what.
    #[schema(value_type = String)]
    pub stock_keeping_unit: StockKeepingUnit,
    /// Why, in the caller's words.
    #[schema(value_type = String)]
    pub reason: Line,
    /// Because of which purchase.
    #[schema(value_type = String)]
    pub purchase_id: PurchaseId,
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

/// Decides what an entitlement becomes, or why it may not.
pub type Decide = fn(Option<&Entitlement>, &EntitlementChange, &Fresh) -> Result<Entitlement, ApiError>;

impl Api {
    /// Changes an entitlement as `decide` says, beginning as `begin` says.
    pub async fn change_entitlement(
        &self,
        name: &'static str,
        keyed: &Keyed,
        body: JsonBody<EntitlementChange>,
        (begin, decide): (Begin, Decide),
    ) -> Result<Response, ApiError> {
        let request = keyed.with_body(&body.json)?;
        let command = ChangeEntitlement {
            asked: body.parsed,
            actor: &keyed.caller.identity.subject,
            trace: &keyed.trace,
            entitlements: &self.entitlements,
            begin,
            decide,
        };
        self.execute(name, &request, &command).await
    }
}

/// A grant or a revoke on its way to the ledger.
struct ChangeEntitlement<'a> {
    asked: EntitlementChange,
    actor: &'a str,
    trace: &'a Trace,
    entitlements: &'a Entitlements,
    begin: Begin,
    decide: Decide,
}

impl ChangeEntitlement<'_> {
    fn id(&self) -> (UserId, StockKeepingUnit) {
        (self.asked.user_id.clone(), self.asked.stock_keeping_unit.clone())
    }
}

impl Command for ChangeEntitlement<'_> {
    type Known = Option<Entitlement>;

    fn begin(&self) -> Begin {
        self.begin
    }

    fn reads(&self) -> Vec<Key> {
        vec![self.entitlements.key(&self.id())]
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        self.entitlements.among(found, &self.id())
    }

    fn decide(&self, known: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        match (self.decide)(known.as_ref(), &self.asked, fresh) {
            Err(refusal) => Ok(Decision::Refuse(refusal.into_answer()?)),
            Ok(entitlement) => {
                let cause = Cause { reason: self.asked.reason.clone(), purchase_id: self.asked.purchase_id.clone() };
                let mut event = entitlement.changed(&cause, fresh, self.actor)?;
                event.traceparent = Some(self.trace.clone());
                let view = EntitlementView {
                    user_id: &entitlement.user_id,
                    stock_keeping_unit: &entitlement.stock_keeping_unit,
                    status: entitlement.status,
                    version: entitlement.version,
                    updated_at: entitlement.updated_at,
                };
                Ok(Decision::Commit {
                    writes: vec![self.entitlements.put(&entitlement)?],
                    events: vec![event],
                    answer: Answer::json(200, &view)?,
                })
            }
        }
    }
}

impl EntitlementChange {
    /// The entitlement that this change leads to.
    pub fn to(&self, status: EntitlementStatus, version: u64, fresh: &Fresh) -> Entitlement {
        Entitlement {
            user_id: self.user_id.clone(),
            stock_keeping_unit: self.stock_keeping_unit.clone(),
            status,
            version,
            updated_at: fresh.now,
        }
    }
}
