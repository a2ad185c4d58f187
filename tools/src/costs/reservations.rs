//! Reservations, decided by their own routes and by an action.

use reqwest::StatusCode;
use serde_json::json;

use super::metered::Metered;

impl Metered {
    pub async fn reservations(&mut self) {
        self.staff_of_ten().await;
        let (rita, nobody) =
            (self.stack.caller("rita", "RESTAURANT_USER", &[]).await, self.stack.customer("nobody").await);
        self.stack.recipient("RESTAURANT_USER", "rita", json!({"name": "Rita", "restaurant_id": "r-4"})).await;
        for (step, by, use_case) in [
            ("accept", &rita, "a reservation accepted, told to a customer without an address"),
            ("reject", &rita, "a reservation rejected, told to the same"),
            ("cancel", &nobody, "a reservation cancelled, told to the same"),
        ] {
            let id = self.requested(step, "nobody", "r-4").await;
            self.begin().await;
            let decided = by.order(&format!("/v1/reservations/{id}/{step}"), &format!("{step}-it")).await;
            self.note(use_case, &decided, StatusCode::OK).await;
            if step == "accept" {
                let again = by.order(&format!("/v1/reservations/{id}/{step}"), "accept-again").await;
                self.note("a reservation accepted again: refused", &again, StatusCode::CONFLICT).await;
                self.look("looking at a reservation", by, &format!("/v1/reservations/{id}")).await;
            }
        }
    }

    async fn staff_of_ten(&mut self) {
        let staff = (0..10).map(|number| {
            let id = format!("staff-{number}");
            let details = json!({"name": id, "email": format!("{id}@example.com"), "restaurant_id": "r-1"});
            (id, details)
        });
        self.stack.recipients("RESTAURANT_USER", staff).await;
        let ada = self.stack.customer("ada").await;
        self.begin().await;
        let requested = ada.command("/v1/reservations", "res-1", &table("ada", "r-1")).await;
        self.note("a reservation, told to a staff of ten", &requested, StatusCode::CREATED).await;
        let member = self.stack.caller("staff-0", "RESTAURANT_USER", &[]).await;
        let inbox = member.get("/v1/inbox?limit=1").await.json();
        let id = inbox["notifications"][0]["notification_id"].as_str().expect("a notification").to_owned();
        self.begin().await;
        let body = json!({"action_type": "CONFIRMED"});
        let acted = member.command(&format!("/v1/notifications/{id}/actions"), "a-1", &body).await;
        self.note("its confirmation by one of them, told to the customer", &acted, StatusCode::OK).await;
        let other = self.stack.caller("staff-1", "RESTAURANT_USER", &[]).await;
        let inbox = other.get("/v1/inbox?limit=1").await.json();
        let id = inbox["notifications"][0]["notification_id"].as_str().expect("a notification").to_owned();
        self.begin().await;
        let acted = other.command(&format!("/v1/notifications/{id}/actions"), "a-2", &body).await;
        self.note("the confirmation of another, who is too late", &acted, StatusCode::CONFLICT).await;
        let read = other.order(&format!("/v1/notifications/{id}/read"), "a-3").await;
        self.note("marking it read for all ten", &read, StatusCode::OK).await;
    }

    /// Requests a table; gives its id.
    async fn requested(&self, key: &str, customer: &str, restaurant: &str) -> String {
        let requested =
            self.stack.customer(customer).await.command("/v1/reservations", key, &table(customer, restaurant)).await;
        assert_eq!(requested.status, StatusCode::CREATED, "{}", requested.text);
        requested.json()["reservation_id"].as_str().expect("an id").to_owned()
    }
}

fn table(customer: &str, restaurant: &str) -> serde_json::Value {
    json!({
        "customer_id": customer, "restaurant_id": restaurant, "party_size": 2, "slot_time": "2031-01-01T19:00:00Z",
    })
}
