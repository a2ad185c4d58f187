//! Deletes items past their time to live.
//!
//! dynoxide deletes them only on request. AWS takes up to two days. Once a minute is soon enough to observe on a laptop
//! and rare enough to cost little: the sweep reads every item of each table with a time to live.

use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{self, MissedTickBehavior};

use super::Tables;

const INTERVAL: Duration = Duration::from_secs(60);

/// Deletes expired items once a minute, forever.
pub(super) async fn run(tables: &Tables) {
    let mut due = time::interval_at(time::Instant::now() + INTERVAL, INTERVAL);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        let tables = tables.clone();
        // On another thread: requests are served between the sweep's pages of 25 items.
        if let Err(error) = spawn_blocking(move || tables.delete_expired()).await {
            tracing::error!(%error, "expiry sweep panicked; next sweep in one minute");
        }
    }
}

impl Tables {
    fn delete_expired(&self) {
        match self.database.sweep_ttl() {
            Ok(0) => {}
            Ok(removed) => {
                tracing::debug!(removed, "expired items deleted");
                self.count_write();
            }
            Err(error) => tracing::warn!(%error, "cannot delete expired items; retrying in one minute"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn request<T: DeserializeOwned>(json: Value) -> T {
        serde_json::from_value(json).unwrap()
    }

    fn tables_with_one_item(expires: &str) -> Tables {
        let tables = Tables::empty().unwrap();
        let database = &tables.database;
        let table = json!({
            "TableName": "tokens",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        database.create_table(request(table)).unwrap();
        let setting = json!({"AttributeName": "expires", "Enabled": true});
        database
            .update_time_to_live(request(json!({"TableName": "tokens", "TimeToLiveSpecification": setting})))
            .unwrap();
        let item = json!({"id": {"S": "one"}, "expires": {"N": expires}});
        database.put_item(request(json!({"TableName": "tokens", "Item": item}))).unwrap();
        tables
    }

    fn items(tables: &Tables) -> usize {
        tables.database.scan(request(json!({"TableName": "tokens"}))).unwrap().count
    }

    #[test]
    fn expired_item_is_deleted_and_announced() {
        let tables = tables_with_one_item("1000");
        let writes = tables.writes();
        tables.delete_expired();
        assert_eq!(items(&tables), 0);
        assert!(writes.has_changed().unwrap());
    }

    #[test]
    fn unexpired_item_stays() {
        let tables = tables_with_one_item("99999999999");
        let writes = tables.writes();
        tables.delete_expired();
        assert_eq!(items(&tables), 1);
        assert!(!writes.has_changed().unwrap());
    }
}
