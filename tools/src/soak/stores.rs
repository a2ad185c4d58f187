//! What is put and not commanded: people's addresses, and stock.

use std::time::Duration;

use domain::Time;
use reqwest::Method;
use serde_json::{Value, json};

use super::Soak;
use super::people::{kind, record, user_id};
use super::skipped::Move;
use super::steps::{PERSISTENCE, shop, unit};

impl Soak {
    /// Gives somebody new addresses.
    pub(super) async fn put_record(&self, who: usize, move_: usize) {
        let path = format!("/v1/recipients/{}/{}", kind(who).0, user_id(who));
        let begun = Time::now();
        let was_put = self.until_put(&path, &record(who, move_)).await;
        let done = was_put.then(Time::now);
        self.log.lock().moves.entry(who).or_default().push(Move { number: move_, begun, done });
    }

    /// Says how much there is of a unit.
    pub(super) async fn restock(&self, of: usize, available: u64) {
        let stock = json!({"available": available, "unit_price": 100 + of, "currency": "EUR"});
        self.until_put(&format!("/v1/inventory/{}", unit(of)), &stock).await;
    }

    /// Whether it was put, for certain.
    async fn until_put(&self, path: &str, body: &Value) -> bool {
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < PERSISTENCE {
            match self.world.ask(Some(&shop()), Method::PUT, path, None, Some(body)).await {
                Some((200, _)) => return true,
                Some((status @ (400 | 403 | 404 | 409), text)) => {
                    self.log.violation(format!("PUT {path} answered {status}: {text}"));
                    return false;
                }
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        false
    }
}
