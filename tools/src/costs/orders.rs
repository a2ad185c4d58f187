//! Stock, and orders that come to their end by themselves.

use harness::Answer;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::metered::Metered;

impl Metered {
    pub async fn orders(&mut self) {
        let operator = self.stack.operator().await;
        self.begin().await;
        let put = operator.put("/v1/inventory/wine", &stock()).await;
        self.note("stock put", &put, StatusCode::OK).await;
        self.look("looking at stock", &operator, "/v1/inventory/wine").await;
        let placed = self.ordered("o-1", 1).await;
        self.note("an order of one line, completed", &placed, StatusCode::CREATED).await;
        let id = placed.json()["order_id"].as_str().expect("an id").to_owned();
        let nobody = self.stack.customer("nobody").await;
        let order = self.look("looking at an order", &nobody, &format!("/v1/orders/{id}")).await;
        assert_eq!(order["status"], "COMPLETED", "{order}");
        let late = nobody.order(&format!("/v1/orders/{id}/cancel"), "late").await;
        self.note("a cancel of what is completed: refused", &late, StatusCode::CONFLICT).await;
        let placed = self.ordered("o-2", 1000).await;
        self.note("an order of too much, rejected", &placed, StatusCode::CREATED).await;
        self.failed(&placed).await;
        self.stack.fault("PAYMENT", "reject", None).await;
        let placed = self.ordered("o-3", 1).await;
        self.note("an order whose payment is declined", &placed, StatusCode::CREATED).await;
        self.failed(&placed).await;
        self.stack.fault("PAYMENT", "ok", None).await;
    }

    /// Places an order of one line.
    pub async fn ordered(&self, key: &str, quantity: u64) -> Answer {
        let nobody = self.stack.customer("nobody").await;
        let lines = json!([{"stock_keeping_unit": "wine", "quantity": quantity}]);
        self.begin().await;
        nobody.command("/v1/orders", key, &json!({"customer_id": "nobody", "lines": lines})).await
    }

    async fn failed(&self, placed: &Answer) {
        let id = placed.json()["order_id"].as_str().expect("an id").to_owned();
        let order = self.stack.customer("nobody").await.get(&format!("/v1/orders/{id}")).await.json();
        assert_eq!(order["status"], "FAILED", "{order}");
    }
}

/// Ten bottles.
pub fn stock() -> Value {
    json!({"available": 10, "unit_price": 1200, "currency": "EUR"})
}
