//! Entitlements: what a user may use, and the two events that change it.

use serde::{Deserialize, Serialize};

use crate::id::{Line, PurchaseId, compose};
use crate::{Event, Fresh, StockKeepingUnit, Time, UserId};

/// The aggregate: one user's right to one unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entitlement {
    /// Whose it is.
    pub user_id: UserId,
    /// What it is for.
    pub stock_keeping_unit: StockKeepingUnit,
    /// Whether it holds.
    pub status: EntitlementStatus,
    /// Grows by one with each change, from 1.
    pub version: u64,
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

/// Why an entitlement changed: the body of a grant or a revoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The reason, in the caller's words.
    pub reason: Line,
    /// The purchase it refers to.
    pub purchase_id: PurchaseId,
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

/// The kind and id under which the history of an entitlement is kept.
pub fn aggregate(user_id: &UserId, unit: &StockKeepingUnit) -> (String, String) {
    ("Entitlement".to_owned(), compose(&[user_id.as_str(), unit.as_str()]))
}

impl Entitlement {
    /// The event that reports that this entitlement came to stand as it does.
    pub fn changed(&self, cause: &Cause, fresh: &Fresh, actor: &str) -> Result<Event, serde_json::Error> {
        let event_type = match self.status {
            EntitlementStatus::Active => GRANTED,
            EntitlementStatus::Revoked => REVOKED,
        };
        let payload = EntitlementChanged {
            event_id: fresh.event_id.to_string(),
            event_type: event_type.to_owned(),
            occurred_at: fresh.now,
            user_id: self.user_id.clone(),
            stock_keeping_unit: self.stock_keeping_unit.clone(),
            source: cause.reason.clone(),
            source_id: cause.purchase_id.clone(),
            version: self.version,
        };
        let (aggregate_type, aggregate_id) = aggregate(&self.user_id, &self.stock_keeping_unit);
        Ok(Event {
            event_id: fresh.event_id.into(),
            event_type: event_type.to_owned(),
            aggregate_type,
            aggregate_id,
            version: Some(self.version),
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor: Some(actor.to_owned()),
            traceparent: None,
            payload: serde_json::to_value(payload)?,
        })
    }
}
