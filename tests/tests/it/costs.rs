//! What a use case costs is documented, and does not grow unseen.

use std::collections::BTreeMap;

use tests::costs::measure;

const DOCUMENTED: &str = include_str!("../../../docs/deploying.md");

/// Write and read units of each use case, as the page has them.
fn documented() -> BTreeMap<&'static str, (f64, f64)> {
    // Of the page's tables, this one alone has numbers there.
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        Some((*cells.get(1)?, (cells.get(2)?.parse().ok()?, cells.get(3)?.parse().ok()?)))
    };
    DOCUMENTED.lines().filter_map(row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_use_case_takes_more_units_than_documented() {
    let mut measured: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for cost in measure().await {
        let (writes, reads) = measured.entry(cost.use_case).or_default();
        *writes += cost.units.writes;
        *reads += cost.units.reads;
    }
    let documented = documented();
    for (use_case, (writes, reads)) in measured {
        let (most_writes, most_reads) = documented.get(use_case).unwrap_or_else(|| panic!("{use_case} is not there"));
        assert!(writes <= *most_writes && reads <= *most_reads, "{use_case}: {writes} writes, {reads} reads");
    }
}
