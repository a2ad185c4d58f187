//! `POST /v1/entitlements/grants`: makes an entitlement ACTIVE.
//!
//! One round trip if the entitlement is new: no read before, three items, six write units. If it exists, the failed write
//! returns it, and one more round trip grants it again or stores the refusal.

use axum::extract::State;
use belfry_aws::{Command, Commit, Context, Entity, Get, Revision, Stored};
use belfry_http::Keyed;
use domain::entitlement::{self, Entitlement, EntitlementChange, EntitlementRefusal};

use super::EntitlementView;
use crate::Shared;
use crate::http::error::ErrorBody;
use crate::http::identity::{Allowed, CommandsWrite};
use crate::http::refusal::respond;

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
    Keyed { request, body }: Keyed<EntitlementChange>,
) -> belfry_http::Result {
    Ok(api.belfry.execute(&request, &Grant(body), respond(200, EntitlementView::of)).await?.into())
}

struct Grant(EntitlementChange);

impl Command for Grant {
    const NAME: &'static str = "grant";
    type Reads = Get<Entitlement>;
    type Output = Revision<Entitlement>;
    type Refusal = EntitlementRefusal;

    fn reads(&self) -> Self::Reads {
        Entitlement::by_id((&self.0.user_id, &self.0.stock_keeping_unit)).assume_absent()
    }

    fn decide(
        &self,
        before: Option<Stored<Entitlement>>,
        ctx: &Context,
    ) -> Result<Commit<Revision<Entitlement>>, EntitlementRefusal> {
        let granted = entitlement::grant(before.as_deref(), &self.0, ctx.now())?;
        let granted = Revision::of(before.as_ref(), granted);
        Ok(ctx.commit().put(&granted).event_with(|stamp| self.0.event(&granted, stamp)).output(granted))
    }
}

#[cfg(test)]
mod tests {
    use domain::entitlement::EntitlementStatus;
    use serde_json::json;

    use super::*;

    #[test]
    fn granting_after_a_revoke_continues_the_version() {
        let body = json!({"user_id": "u", "stock_keeping_unit": "s", "reason": "PURCHASE", "purchase_id": "p"});
        let (grant, ctx) = (Grant(serde_json::from_value(body).expect("a body")), Context::begin());
        let first = grant.decide(None, &ctx).expect("granted").split().1;
        assert_eq!(first.version(), 1);
        let revoked = Entitlement { status: EntitlementStatus::Revoked, ..Entitlement::clone(&first) };
        let again = grant.decide(Some(Stored::at(2, revoked)), &ctx).expect("granted");
        assert_eq!((again.as_output().version(), again.writes().len(), again.events()[0].version), (3, 1, Some(3)));
    }
}
