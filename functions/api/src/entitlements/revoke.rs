//! `POST /v1/entitlements/revokes`: makes an entitlement REVOKED.
//!
//! Two round trips: one consistent batch read of the entitlement and the key, then the transaction of three items, six write
//! units. A replay or a key conflict ends after the first.

use axum::extract::State;
use belfry_aws::{Command, Commit, Context, Entity, Get, Revision, Stored};
use belfry_http::Keyed;
use domain::entitlement::{self, Entitlement, EntitlementChange, EntitlementRefusal};

use super::EntitlementView;
use crate::Shared;
use crate::http::error::ErrorBody;
use crate::http::identity::{Allowed, CommandsWrite};
use crate::http::refusal::respond;

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
    Keyed { request, body }: Keyed<EntitlementChange>,
) -> belfry_http::Result {
    Ok(api.belfry.execute(&request, &Revoke(body), respond(200, EntitlementView::of)).await?.into())
}

struct Revoke(EntitlementChange);

impl Command for Revoke {
    const NAME: &'static str = "revoke";
    type Reads = Get<Entitlement>;
    type Output = Revision<Entitlement>;
    type Refusal = EntitlementRefusal;

    fn reads(&self) -> Self::Reads {
        Entitlement::by_id((&self.0.user_id, &self.0.stock_keeping_unit))
    }

    fn decide(
        &self,
        before: Option<Stored<Entitlement>>,
        ctx: &Context,
    ) -> Result<Commit<Revision<Entitlement>>, EntitlementRefusal> {
        let revoked = entitlement::revoke(before.as_deref(), &self.0, ctx.now())?;
        let revoked = Revision::of(before.as_ref(), revoked);
        Ok(ctx.commit().put(&revoked).event_with(|stamp| self.0.event(&revoked, stamp)).output(revoked))
    }
}
