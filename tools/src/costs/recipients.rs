//! Who is told, and what they wish.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::metered::Metered;

impl Metered {
    pub async fn recipients(&mut self) {
        let clerk = self.stack.caller("c", "ADMIN_USER", &["recipients:write"]).await;
        self.begin().await;
        let cleo = json!({"name": "Cleo", "email": "cleo@example.com"});
        let stored = clerk.put("/v1/recipients/CUSTOMER/cleo", &cleo).await;
        self.note("a customer stored", &stored, StatusCode::OK).await;
        let rosa = "/v1/recipients/RESTAURANT_USER/rosa";
        let stored = clerk.put(rosa, &json!({"name": "Rosa", "restaurant_id": "r-2"})).await;
        self.note("a recipient of a group stored", &stored, StatusCode::OK).await;
        let moved = clerk.put(rosa, &json!({"name": "Rosa", "restaurant_id": "r-3"})).await;
        self.note("the same moved to another group", &moved, StatusCode::OK).await;
        self.look("looking at a recipient", &clerk, rosa).await;
        let deleted = clerk.send(clerk.request(Method::DELETE, rosa)).await;
        self.note("a recipient of a group deleted", &deleted, StatusCode::NO_CONTENT).await;
        let cleo = self.stack.customer("cleo").await;
        self.begin().await;
        let wishes = json!({"preferences": [{"event_type": "*", "channel": "PUSH", "enabled": false}]});
        let stored = cleo.put("/v1/inbox/preferences", &wishes).await;
        self.note("somebody's own preferences stored", &stored, StatusCode::OK).await;
        self.unsubscribe().await;
    }

    /// With the link of the mail to Ben, who is told nothing more.
    async fn unsubscribe(&mut self) {
        let sent = self.stack.call(Method::GET, "/local/sent?channel=EMAIL", None).await.json();
        let sent = sent["sent"].as_array().expect("mails");
        let mail = sent.iter().find(|mail| mail["to"] == "ben@example.com").expect("a mail to Ben");
        let link = mail["headers"]["List-Unsubscribe"].as_str().expect("a link");
        let path = link.trim_matches(['<', '>']).strip_prefix(self.stack.url()).expect("a link of this API").to_owned();
        self.begin().await;
        let looked = self.stack.call(Method::GET, &path, None).await;
        self.note("looking at a link to unsubscribe", &looked, StatusCode::OK).await;
        // As a mail program does it, with a form.
        let nobody = self.stack.caller("anybody", "CUSTOMER", &[]).await.with_token("");
        let form = nobody.request(Method::POST, &path).header("content-type", "application/x-www-form-urlencoded");
        self.begin().await;
        let clicked = nobody.send(form.body("List-Unsubscribe=One-Click")).await;
        self.note("unsubscribing from mail", &clicked, StatusCode::OK).await;
    }
}
