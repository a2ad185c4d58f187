//! The show: one reservation, twenty-five of the staff, three channels; every record and message comes twice, again and
//! again, and the host is killed in the middle of the fan-out and in the middle of sending. Seventy-five sends, each
//! once.

use std::time::Duration;

use harness::Fault;
use serde_json::{Value, json};

use crate::belfry::{Belfry, call};
use crate::staff::{BOTH_COME_BACK, CHANNELS, SOON};
use crate::world::{PATIENCE, World};

const PEOPLE: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn twenty_five_staff_hear_of_a_reservation_once_whatever_comes_twice_and_whoever_dies() {
    let world = World::new("the show".to_owned(), &BOTH_COME_BACK, &SOON).await;
    let host = world.host().await;
    world.employ(&host, PEOPLE).await;

    // Dies with the first chunk of two committed, before anything is sent.
    world.backends.break_next("SendMessageBatch", &["belfry-local-deliver-"], &[Fault::HeldBefore; 20]);
    world.backends.break_next("TransactWriteItems", &["s-00", "s-01"], &[Fault::HeldAfter]);
    world.reserve(&host).await;
    world.backends.dynamodb.held().await;
    host.kill();
    world.backends.mend();
    let told = world.rows("notifications", ["user_id"]).await;
    assert_eq!(told.iter().filter(|[user_id]| user_id.starts_with("s-")).count(), 19, "one chunk of two");

    // Dies with some sent and the others about to be claimed, while everything comes again.
    let host = world.host().await;
    let claims = [vec![Fault::None; 30], vec![Fault::HeldBefore; 1_000]].concat();
    world.backends.break_next("PutItem", &["PROCESSING", "RESTAURANT_USER"], &claims);
    let event_id = world.rows("events", ["event_id"]).await.remove(0)[0].clone();
    tokio::select! {
        () = world.redeliver_without_end(&host, &event_id) => {}
        () = world.held() => {}
    }
    // Every claim from here on is held, so that what is under way comes to its end.
    let no_more_claims = async {
        while world.backends.dynamodb.under_way("PutItem") > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, no_more_claims).await.expect("the last claims that were let through");
    world.until_sends("between two sends", |sends| sends.iter().all(|send| send.status != "PROCESSING")).await;
    host.kill();
    world.backends.mend();
    let sent = world.reached().len();
    assert!((1..PEOPLE * CHANNELS.len()).contains(&sent), "{sent} are sent");

    // Lives, and everything comes again, in the middle and after the end.
    let host = world.host().await;
    let redelivered = async {
        while world.redeliver(&host, &event_id).await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, redelivered).await.expect("something to redeliver");
    world.settled(&host, PEOPLE * 4 + 2).await;
    // Not once more after the end: redelivering everything that was delivered by then takes longer than the client waits.
    let sends = world.settled(&host, PEOPLE * 4 + 2).await;
    // Nobody has a webhook; of the customer nothing is known, neither mail nor push.
    let sent = sends.iter().filter(|send| send.status == "SENT").count();
    assert_eq!(sent, PEOPLE * CHANNELS.len(), "{sends:?}");
    let reached = world.reached();
    assert_eq!((reached.len(), reached.values().max()), (PEOPLE * CHANNELS.len(), Some(&1)), "{reached:?}");
    assert_eq!(world.scan("notifications").await.len(), PEOPLE + 1);
    let marks = world.rows("processed", ["consumer"]).await;
    let consumers = ["fanout:ADMIN_USER", "fanout:CUSTOMER", "fanout:RESTAURANT_USER"];
    assert_eq!(marks, consumers.map(|consumer| [consumer.to_owned()]));
    assert!(world.scan("dead-letters").await.is_empty());
}

impl World {
    async fn reserve(&self, host: &Belfry) {
        let shop = json!({"sub": "shop", "user_type": "ADMIN_USER", "scopes": ["commands:write"]});
        let body = json!({
            "customer_id": "u", "restaurant_id": "r", "party_size": 2, "slot_time": "2030-01-01T19:00:00Z",
        });
        let asked = self.post(host, shop, "/v1/reservations", "k", &body).await.expect("an answer");
        assert_eq!(asked.0, 201, "{}", asked.1);
    }

    /// Every record and message of an event that this host has delivered comes twice more; says how many deliveries
    /// that was.
    async fn redeliver(&self, host: &Belfry, event_id: &str) -> u64 {
        let again = json!({"event_id": event_id, "times": 2});
        let answer: Value =
            call(&self.client, self.client.post(format!("{}/local/redeliver", host.url())).json(&again)).await;
        answer["deliveries"].as_u64().unwrap_or_default()
    }

    async fn redeliver_without_end(&self, host: &Belfry, event_id: &str) {
        loop {
            self.redeliver(host, event_id).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
