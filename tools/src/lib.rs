//! What the programs of this crate are made of: the soak, the breakage matrix, the costs, and what measures times.

pub mod breakage;
pub mod chart;
pub mod contenders;
pub mod costs;
pub mod latency;
pub mod peers;
pub mod prices;
pub mod soak;
pub mod starts;
pub mod timing;
