//! What somebody does with their inbox.

use reqwest::StatusCode;

use super::metered::Metered;

impl Metered {
    pub async fn inbox(&mut self) {
        let ada = self.stack.customer("ada").await;
        let inbox = self.look("reading an inbox of three", &ada, "/v1/inbox").await;
        assert_eq!(inbox["notifications"].as_array().map(Vec::len), Some(3), "{inbox}");
        let id = inbox["notifications"][0]["notification_id"].as_str().expect("an id").to_owned();
        let read = ada.order(&format!("/v1/notifications/{id}/read"), "r-1").await;
        self.note("marking a notification read", &read, StatusCode::OK).await;
        let read = ada.order("/v1/inbox/read-all", "r-2").await;
        self.note("marking all read", &read, StatusCode::OK).await;
        let operator = self.stack.operator().await;
        let path = "/debug/notification/inbox/ada?user_type=CUSTOMER";
        self.look("an operator reading that inbox, with its sends", &operator, path).await;
    }
}
