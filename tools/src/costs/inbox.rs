//! What somebody does with their inbox.

use harness::announcement;
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

    /// What is read does not count, in either sense: a page of a long inbox takes no more than one of a short one.
    pub async fn long_inbox(&mut self) {
        let (source, lea) = (self.stack.source().await, self.stack.customer("lea").await);
        for list in 0..4 {
            let event = |n: usize| announcement(&format!("e-lea-{list}-{n}"), "lea", "Hear, hear");
            let handed_in = source.hand_in(&(0..25).map(event).collect()).await;
            assert_eq!(handed_in.status, StatusCode::ACCEPTED, "{}", handed_in.text);
        }
        self.stack.idle().await;
        let read = lea.order("/v1/inbox/read-all", "r-3").await;
        assert_eq!(read.status, StatusCode::OK, "{}", read.text);
        let page = self.look("reading three of an inbox of a hundred that are read", &lea, "/v1/inbox?limit=3").await;
        assert_eq!((page["unread_count"].as_u64(), page["next_cursor"].is_string()), (Some(0), true), "{page}");
    }
}
