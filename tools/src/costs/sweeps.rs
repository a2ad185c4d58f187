//! What the schedules take when there is nothing to do: the first three every minute, the last every hour.

use serde_json::json;

use super::metered::Metered;

/// The sweeper.
const SWEEP: &str = "SweepFunction";

impl Metered {
    pub async fn sweeps(&mut self) {
        for (use_case, task) in [
            ("a sweep of the outbox that finds nothing", "outbox"),
            ("a sweep of the sends that finds nothing", "sends"),
            ("a sweep of the orders that finds nothing", "orders"),
            ("a look for anomalies that finds none", "anomalies"),
        ] {
            self.begin().await;
            let swept = self.stack.ask_function(SWEEP, json!({"task": task})).await;
            let found =
                swept["published"].as_u64().unwrap_or_default() + swept["anomalies"].as_u64().unwrap_or_default();
            assert_eq!(found, 0, "{task}: {swept}");
            self.write_down(use_case, Some(SWEEP)).await;
        }
    }
}
