//! What is only looked at, and is looked at nowhere else.

use reqwest::{Method, StatusCode};

use super::metered::Metered;

impl Metered {
    pub async fn looks(&mut self) {
        let (nobody, operator) = (self.stack.customer("nobody").await, self.stack.operator().await);
        self.look("a page of entitlements", &nobody, "/v1/users/nobody/entitlements").await;
        let path = "/v1/users/nobody/entitlements/premium/history";
        self.look("an entitlement's history of two", &nobody, path).await;
        let path = "/v1/events?aggregate_type=Campaign&aggregate_id=c-1";
        self.look("a page of an aggregate's events", &operator, path).await;
        self.look("an event's story, of one mail", &operator, "/v1/events/e-mail").await;
        self.look("the outbox of what failed", &operator, "/v1/outbox?status=FAILED").await;
        self.look("the outbox of what is overdue", &operator, "/v1/outbox?status=OVERDUE").await;
        self.look("the overview", &operator, "/v1/overview").await;
        for (use_case, path) in [("an event type's schema", "/schemas/OrderPlaced"), ("the API's health", "/health")] {
            self.begin().await;
            let answer = self.stack.call(Method::GET, path, None).await;
            self.note(use_case, &answer, StatusCode::OK).await;
        }
    }
}
