//! What a whole chain costs: a command, its relay, the fan-out and one mail, in dollars per million.

use tests::costs::measure;
use tests::meter::Units;

/// How many messages or records share a consumer's requests and invocations.
const BATCH: f64 = 10.0;

/// Dollars for a million of them, at the list prices and with the assumptions that `cost` has by default.
// A seam: the prices are those of `tests/src/bin/cost.rs`, and go with the measurement once the library has both.
pub async fn chain_cost() -> f64 {
    let costs = measure().await;
    let chain = costs.iter().filter(|cost| cost.use_case == "a grant, told by one mail");
    let (mut units, mut commands, mut consumers) = (Units::default(), 0.0, 0.0);
    for cost in chain {
        units += cost.units;
        if cost.function == "ApiFunction" {
            commands += 1.0;
        } else {
            consumers += cost.units.batches;
        }
    }
    assert!(consumers > 0.0, "the chain was played");
    // 15 ms of 256 MB.
    let invocation = 0.20 + 0.000_016_666_7 * 0.015 * 0.25 * 1e6;
    0.625 * units.writes
        + 0.125 * units.reads
        + 0.40 * units.requests / BATCH
        + 1.00 * commands
        + invocation * (commands + consumers / BATCH)
}
