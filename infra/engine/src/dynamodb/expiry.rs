//! Items past their time to live.
//!
//! dynoxide removes them only when it is told to. AWS takes up to two days; once a minute is soon enough to be seen
//! on a laptop and seldom enough to cost nothing: every item of a table that has a time to live is looked at.

use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{self, MissedTickBehavior};

use super::Tables;

const EVERY: Duration = Duration::from_secs(60);

/// Removes expired items, forever.
pub(super) async fn every_minute(tables: &Tables) {
    let mut due = time::interval_at(time::Instant::now() + EVERY, EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        let tables = tables.clone();
        // Beside the requests: the sweep lets them in between its pages of 25 items.
        if let Err(error) = spawn_blocking(move || tables.remove_expired()).await {
            tracing::error!(%error, "the sweep of expired items panicked");
        }
    }
}

impl Tables {
    fn remove_expired(&self) {
        match self.database.sweep_ttl() {
            Ok(0) => {}
            Ok(removed) => {
                tracing::debug!(removed, "items expired");
                self.written();
            }
            Err(error) => tracing::warn!(%error, "expired items could not be removed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn ask<T: DeserializeOwned>(request: Value) -> T {
        serde_json::from_value(request).unwrap()
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
        database.create_table(ask(table)).unwrap();
        let setting = json!({"AttributeName": "expires", "Enabled": true});
        database.update_time_to_live(ask(json!({"TableName": "tokens", "TimeToLiveSpecification": setting}))).unwrap();
        let item = json!({"id": {"S": "one"}, "expires": {"N": expires}});
        database.put_item(ask(json!({"TableName": "tokens", "Item": item}))).unwrap();
        tables
    }

    fn items(tables: &Tables) -> usize {
        tables.database.scan(ask(json!({"TableName": "tokens"}))).unwrap().count
    }

    #[test]
    fn an_expired_item_goes_and_is_told() {
        let tables = tables_with_one_item("1000");
        let writes = tables.writes();
        tables.remove_expired();
        assert_eq!(items(&tables), 0);
        assert!(writes.has_changed().unwrap());
    }

    #[test]
    fn an_item_that_has_time_left_stays() {
        let tables = tables_with_one_item("99999999999");
        let writes = tables.writes();
        tables.remove_expired();
        assert_eq!(items(&tables), 1);
        assert!(!writes.has_changed().unwrap());
    }
}
