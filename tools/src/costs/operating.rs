//! What operators do: dead letters, keys.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::metered::Metered;

impl Metered {
    pub async fn operating(&mut self) {
        let operator = self.stack.operator().await;
        self.begin().await;
        self.stack.inject("fanout-customer", "poison").await;
        self.write_down("a message that nobody can read: a dead letter", None).await;
        let id = self.open_letter().await;
        self.look("a page of dead letters", &operator, "/v1/dead-letters?status=OPEN").await;
        self.look("looking at a dead letter", &operator, &format!("/v1/dead-letters/{id}")).await;
        let filter = json!({"filter": {"queue": "fanout-customer"}, "dry_run": true});
        let counted = operator.command("/v1/dead-letters/redrive", "count-1", &filter).await;
        self.note("a redrive of all that match, as a dry run", &counted, StatusCode::OK).await;
        let redriven = operator.order(&format!("/v1/dead-letters/{id}/redrive"), "redrive-2").await;
        self.note("a dead letter redriven, that dies again", &redriven, StatusCode::OK).await;
        let id = self.open_letter().await;
        self.begin().await;
        let discarded = operator.order(&format!("/v1/dead-letters/{id}/discard"), "d-1").await;
        self.note("a dead letter discarded", &discarded, StatusCode::OK).await;
        let key = "/v1/idempotency-keys/g-1?caller=shop";
        self.look("looking a key up", &operator, key).await;
        let evicted = operator.send(operator.request(Method::DELETE, key)).await;
        self.note("a key evicted", &evicted, StatusCode::NO_CONTENT).await;
    }
}
