//! Each channel by itself, and sends that fail.

use harness::{Answer, announcement};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::metered::Metered;

impl Metered {
    pub async fn sends(&mut self) {
        let details = json!({
            "name": "Una", "email": "una@example.com", "phone": "+390612345678", "push_tokens": ["token-1"],
            "slack_webhook_url": "https://hooks.slack.com/services/T1/B1/secret",
        });
        self.stack.recipient("CUSTOMER", "una", details).await;
        for (use_case, channel) in [
            ("an announcement told to one customer by one text message", "SMS"),
            ("an announcement told to one customer by one push message", "PUSH"),
            ("an announcement told to one customer through Slack", "SLACK"),
        ] {
            let told = self.announced(channel, &json!([channel])).await;
            self.note(use_case, &told, StatusCode::ACCEPTED).await;
            assert_eq!(self.stack.sent(channel).await.len(), 1, "it was told");
        }
        let told = self.announced("all", &json!(["EMAIL", "SMS", "PUSH", "SLACK"])).await;
        self.note("an announcement told to one customer through all four", &told, StatusCode::ACCEPTED).await;
        self.stack.fault("EMAIL", "error", Some(1)).await;
        let told = self.announced("once-more", &json!(["EMAIL"])).await;
        self.note("the same by a mail that fails at first", &told, StatusCode::ACCEPTED).await;
        self.stack.fault("EMAIL", "reject", Some(1)).await;
        let told = self.announced("for-good", &json!(["EMAIL"])).await;
        self.note("the same by a mail that is refused for good: a dead letter", &told, StatusCode::ACCEPTED).await;
        let operator = self.stack.operator().await;
        let id = self.open_letter().await;
        self.begin().await;
        let redriven = operator.order(&format!("/v1/dead-letters/{id}/redrive"), "redrive-1").await;
        self.note("its redrive, and the mail", &redriven, StatusCode::OK).await;
    }

    async fn announced(&self, event_id: &str, channels: &Value) -> Answer {
        let mut event = announcement(event_id, "una", "Hear, hear");
        event["payload"]["channels"] = channels.clone();
        // Nothing else is told by a text message.
        event["payload"]["urgent"] = json!(true);
        let source = self.stack.source().await;
        self.begin().await;
        source.hand_in(&event).await
    }

    /// The only dead letter that nobody has handled.
    pub async fn open_letter(&self) -> String {
        let letters = self.stack.operator().await.all("/v1/dead-letters?status=OPEN", "dead_letters").await;
        assert_eq!(letters.len(), 1, "{letters:?}");
        letters[0]["dead_letter_id"].as_str().expect("an id").to_owned()
    }
}
