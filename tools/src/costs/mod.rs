//! The use cases whose cost is documented, each played on a stack of its own and metered.
//!
//! `measure` plays all of them; `chain` and `leanest_chain` play one, quickly, for whoever wants to know the price of a whole
//! chain: `Prices::default().dollars(&chain().await)`.

mod entitlements;
mod events;
mod inbox;
mod live;
mod looks;
mod metered;
mod operating;
mod orders;
mod paid;
mod recipients;
mod reservations;
mod sends;
mod sweeps;

use std::collections::BTreeMap;

use crate::prices::Used;
use metered::Metered;

/// What one use case took.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The use case.
    pub use_case: &'static str,
    /// What each function used, by its logical id.
    pub functions: BTreeMap<String, Used>,
}

impl Cost {
    /// What all functions used.
    pub fn used(&self) -> Used {
        let mut all = Used::default();
        for used in self.functions.values() {
            all += *used;
        }
        all
    }
}

/// Plays every use case once.
pub async fn measure() -> Vec<Cost> {
    let mut metered = Metered::start().await;
    metered.entitlements().await;
    metered.grant_by_mail().await;
    metered.announcement_by_mail().await;
    metered.events().await;
    metered.sends().await;
    metered.recipients().await;
    metered.reservations().await;
    metered.inbox().await;
    metered.orders().await;
    metered.operating().await;
    metered.live().await;
    metered.looks().await;
    metered.sweeps().await;
    metered.long_inbox().await;
    let mut costs = metered.stop().await;
    costs.extend(paid::measure().await);
    costs
}

/// What a grant takes that is told by one mail: the command, the relay, the fan-out, the relay of the send, the delivery.
/// Starts a stack of its own and stops it.
pub async fn chain() -> Used {
    let mut metered = Metered::start().await;
    metered.grant_by_mail().await;
    only(&metered.stop().await)
}

/// The same for the leanest chain there is: an event that a source hands in, told to one customer through one channel.
pub async fn leanest_chain() -> Used {
    let mut metered = Metered::start().await;
    metered.announcement_by_mail().await;
    only(&metered.stop().await)
}

fn only(costs: &[Cost]) -> Used {
    assert_eq!(costs.len(), 1, "one use case was played");
    costs[0].used()
}
