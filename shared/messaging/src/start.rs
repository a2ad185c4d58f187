//! Why a function that publishes or consumes cannot start.

use domain::routing::BadRouting;
use runtime::BadSetting;

/// The function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BadStart {
    /// A setting is missing or wrong.
    #[error(transparent)]
    Setting(#[from] BadSetting),
    /// The routing file cannot be read.
    #[error(transparent)]
    Routing(#[from] &'static BadRouting),
}
