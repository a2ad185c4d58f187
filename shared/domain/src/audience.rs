//! The four kinds of user that are told things.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Who a notification is for, and what a caller's token says of itself in `user_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Audience {
    /// The one who buys, books or owns.
    Customer,
    /// Staff of a restaurant.
    RestaurantUser,
    /// Staff of an agency.
    AgencyUser,
    /// Belfry's own operators.
    AdminUser,
}

/// The text names none of the four audiences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be one of CUSTOMER, RESTAURANT_USER, AGENCY_USER, ADMIN_USER")]
pub struct NotAnAudience;

impl Audience {
    /// All four, in the order of SPEC.md.
    pub const ALL: [Self; 4] = [Self::Customer, Self::RestaurantUser, Self::AgencyUser, Self::AdminUser];

    /// The name as it is written in requests, tokens and items.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Customer => "CUSTOMER",
            Self::RestaurantUser => "RESTAURANT_USER",
            Self::AgencyUser => "AGENCY_USER",
            Self::AdminUser => "ADMIN_USER",
        }
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Audience {
    type Err = NotAnAudience;

    fn from_str(text: &str) -> Result<Self, NotAnAudience> {
        Self::ALL.into_iter().find(|audience| audience.as_str() == text).ok_or(NotAnAudience)
    }
}
