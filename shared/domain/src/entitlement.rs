//! Entitlements: what a user may use, the two decisions that change it, and their events.

use belfry_core::{Entity, EventDraft, Keep, Key, Refusal, Revision, Stamp, Table};
use serde::{Deserialize, Serialize};

use crate::id::{Line, PurchaseId};
use crate::{StockKeepingUnit, Time, UserId};

/// One user's right to one unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entitlement {
    /// Whose it is.
    pub user_id: UserId,
    /// What it is for.
    pub stock_keeping_unit: StockKeepingUnit,
    /// Whether it holds.
    pub status: EntitlementStatus,
    /// When it last changed.
    pub updated_at: Time,
}

/// Whether an entitlement holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EntitlementStatus {
    /// It holds.
    Active,
    /// It held once.
    Revoked,
}

/// The body of a grant or a revoke.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EntitlementChange {
    /// Whose entitlement.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub user_id: UserId,
    /// For what.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub stock_keeping_unit: StockKeepingUnit,
    /// Why, in the caller's words.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub reason: Line,
    /// Because of which purchase.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub purchase_id: PurchaseId,
}

/// Why an entitlement cannot be granted or revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntitlementRefusal {
    /// A grant of an entitlement that holds.
    #[error("already ACTIVE")]
    AlreadyActive,
    /// A revoke of one that no longer holds.
    #[error("already REVOKED")]
    AlreadyRevoked,
    /// A revoke of one that never held.
    #[error("never granted")]
    NeverGranted,
}

impl Refusal for EntitlementRefusal {
    fn keep(&self) -> Keep {
        Keep::Store
    }
}

/// The payload of `EntitlementGranted` and `EntitlementRevoked`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EntitlementChanged {
    /// The event's id, repeated so that the payload can be read alone.
    pub event_id: String,
    /// `EntitlementGranted` or `EntitlementRevoked`.
    pub event_type: String,
    /// When it changed.
    pub occurred_at: Time,
    /// Whose entitlement.
    pub user_id: UserId,
    /// For what.
    pub stock_keeping_unit: StockKeepingUnit,
    /// The reason.
    pub source: Line,
    /// The purchase.
    pub source_id: PurchaseId,
    /// The entitlement's version after the change.
    pub version: u64,
}

/// The event type of a grant.
pub const GRANTED: &str = "EntitlementGranted";
/// The event type of a revoke.
pub const REVOKED: &str = "EntitlementRevoked";

impl Entity for Entitlement {
    const TABLE: Table = Table::new("entitlements", "user_id").range("stock_keeping_unit");
    const KIND: &'static str = "Entitlement";
    type Id<'a> = (&'a UserId, &'a StockKeepingUnit);

    fn key((user_id, unit): Self::Id<'_>) -> Key {
        Key::pair(user_id, unit)
    }

    fn id(&self) -> Self::Id<'_> {
        (&self.user_id, &self.stock_keeping_unit)
    }
}

/// Makes an entitlement ACTIVE, if it is not.
pub fn grant(
    before: Option<&Entitlement>,
    change: &EntitlementChange,
    now: Time,
) -> Result<Entitlement, EntitlementRefusal> {
    match before.map(|entitlement| entitlement.status) {
        None | Some(EntitlementStatus::Revoked) => Ok(change.to(EntitlementStatus::Active, now)),
        Some(EntitlementStatus::Active) => Err(EntitlementRefusal::AlreadyActive),
    }
}

/// Makes an entitlement REVOKED, if it is ACTIVE.
pub fn revoke(
    before: Option<&Entitlement>,
    change: &EntitlementChange,
    now: Time,
) -> Result<Entitlement, EntitlementRefusal> {
    match before.map(|entitlement| entitlement.status) {
        Some(EntitlementStatus::Active) => Ok(change.to(EntitlementStatus::Revoked, now)),
        Some(EntitlementStatus::Revoked) => Err(EntitlementRefusal::AlreadyRevoked),
        None => Err(EntitlementRefusal::NeverGranted),
    }
}

impl EntitlementChange {
    fn to(&self, status: EntitlementStatus, now: Time) -> Entitlement {
        Entitlement {
            user_id: self.user_id.clone(),
            stock_keeping_unit: self.stock_keeping_unit.clone(),
            status,
            updated_at: now,
        }
    }

    /// The event that reports what an entitlement became.
    pub fn event(&self, after: &Revision<Entitlement>, stamp: Stamp) -> EventDraft {
        let event_type = match after.status {
            EntitlementStatus::Active => GRANTED,
            EntitlementStatus::Revoked => REVOKED,
        };
        let payload = EntitlementChanged {
            event_id: stamp.event_id.to_string(),
            event_type: event_type.to_owned(),
            occurred_at: stamp.now,
            user_id: self.user_id.clone(),
            stock_keeping_unit: self.stock_keeping_unit.clone(),
            source: self.reason.clone(),
            source_id: self.purchase_id.clone(),
            version: after.version(),
        };
        EventDraft::new(event_type, history(after.id()), &payload).version(after.version())
    }
}

/// The type and id under which an entitlement's events are kept.
pub fn history(id: (&UserId, &StockKeepingUnit)) -> (&'static str, String) {
    (Entitlement::KIND, Entitlement::key(id).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> EntitlementChange {
        serde_json::from_value(serde_json::json!({
            "user_id": "u", "stock_keeping_unit": "sku", "reason": "PURCHASE", "purchase_id": "p",
        }))
        .expect("a body")
    }

    fn at(status: EntitlementStatus) -> Entitlement {
        change().to(status, Time::now())
    }

    #[test]
    fn an_entitlement_is_granted_unless_it_is_active() {
        let revoked = at(EntitlementStatus::Revoked);
        for before in [None, Some(&revoked)] {
            let granted = grant(before, &change(), Time::now()).expect("granted");
            assert_eq!(granted.status, EntitlementStatus::Active);
        }
        let active = at(EntitlementStatus::Active);
        assert_eq!(grant(Some(&active), &change(), Time::now()), Err(EntitlementRefusal::AlreadyActive));
    }

    #[test]
    fn only_an_active_entitlement_is_revoked() {
        let (active, revoked) = (at(EntitlementStatus::Active), at(EntitlementStatus::Revoked));
        let after = revoke(Some(&active), &change(), Time::now()).expect("revoked");
        assert_eq!(after.status, EntitlementStatus::Revoked);
        assert_eq!(revoke(Some(&revoked), &change(), Time::now()), Err(EntitlementRefusal::AlreadyRevoked));
        assert_eq!(revoke(None, &change(), Time::now()), Err(EntitlementRefusal::NeverGranted));
    }

    #[test]
    fn different_entitlements_have_different_histories() {
        let id = |text: &str| UserId::parse(text).expect("an id");
        let unit = |text: &str| StockKeepingUnit::parse(text).expect("a unit");
        assert_eq!(history((&id("u"), &unit("s"))), ("Entitlement", "u#s".to_owned()));
        assert_ne!(history((&id("a#b"), &unit("c"))), history((&id("a"), &unit("b#c"))));
    }
}
