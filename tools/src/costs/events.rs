//! Events that a source hands in.

use harness::announcement;
use reqwest::StatusCode;
use serde_json::json;

use super::metered::Metered;

impl Metered {
    /// The leanest whole chain: one item is the command, and nothing is skipped.
    pub async fn announcement_by_mail(&mut self) {
        let source = self.stack.source().await;
        self.stack.recipient("CUSTOMER", "ben", json!({"name": "Ben", "email": "ben@example.com"})).await;
        let before = self.stack.sent("EMAIL").await.len();
        self.begin().await;
        let mut event = announcement("e-mail", "ben", "Hear, hear");
        event["payload"]["channels"] = json!(["EMAIL"]);
        let handed_in = source.hand_in(&event).await;
        self.note("an announcement told to one customer by one mail", &handed_in, StatusCode::ACCEPTED).await;
        assert_eq!(self.stack.sent("EMAIL").await.len(), before + 1, "it was told");
    }

    pub async fn events(&mut self) {
        let source = self.stack.source().await;
        self.begin().await;
        let handed_in = source.hand_in(&announcement("e-1", "nobody", "Hear, hear")).await;
        let use_case = "an announcement told to a customer without an address";
        self.note(use_case, &handed_in, StatusCode::ACCEPTED).await;
        let again = source.hand_in(&announcement("e-1", "nobody", "Hear, hear")).await;
        self.note("the same event handed in again", &again, StatusCode::ACCEPTED).await;
        let other = source.hand_in(&announcement("e-1", "nobody", "Something else")).await;
        self.note("its id for another event", &other, StatusCode::CONFLICT).await;
        let list = json!(["l-1", "l-2", "l-3"].map(|id| announcement(id, "nobody", "Hear, hear")));
        let handed_in = source.hand_in(&list).await;
        self.note("three announcements handed in at once, told to the same", &handed_in, StatusCode::ACCEPTED).await;
        let operator = self.stack.operator().await;
        self.begin().await;
        let republished = operator.order("/v1/outbox/e-1/republish", "again-1").await;
        self.note("an event republished: told before, so skipped", &republished, StatusCode::OK).await;
    }
}
