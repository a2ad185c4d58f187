//! What streams, queues and sockets hand to functions.

use futures_util::FutureExt;
use harness::announcement;
use serde_json::{Value, json};

use super::commands::{dead_letter, done};
use super::{Scene, UseCase, notify, saga};

/// Every consumer.
pub fn all() -> Vec<UseCase> {
    [relay(), notify::all(), saga::all(), letters(), sockets()].into_iter().flatten().collect()
}

macro_rules! consumer {
    ($name:literal, $function:literal, $leaves:expr, |$scene:ident| $event:expr) => {
        consumer!($name, $function, $leaves, None, |$scene| $event)
    };
    ($name:literal, $function:literal, $leaves:expr, $unknown:expr, |$scene:ident| $event:expr) => {
        UseCase {
            name: $name,
            function: $function,
            prepare: |$scene| async move { $event }.boxed(),
            leaves: $leaves,
            unknown: $unknown,
        }
    };
}
pub(super) use consumer;

fn relay() -> Vec<UseCase> {
    vec![
        consumer!(
            "event relayed",
            "OutboxStreamFunction",
            &[("events PUBLISHED", 1), ("queue fanout-customer", 1)],
            |scene| {
                announced(scene, &["e-1"], &["EMAIL"]).await;
                scene.stack().inserts("events", &["event_id"]).await
            }
        ),
        consumer!(
            "three events relayed in a batch",
            "OutboxStreamFunction",
            &[("events PUBLISHED", 3), ("queue fanout-customer", 3)],
            |scene| {
                announced(scene, &["e-1", "e-2", "e-3"], &["EMAIL"]).await;
                scene.stack().inserts("events", &["event_id"]).await
            }
        ),
        consumer!(
            "send relayed",
            "OutboxStreamFunction",
            &[("sends PENDING", 1), ("queue deliver-email", 1)],
            |scene| {
                customer(scene).await;
                announced(scene, &["e-1"], &["EMAIL"]).await;
                let event = scene.message("fanout-customer").await;
                scene.stack().invoke("FanoutFunction", event).await;
                scene.stack().inserts("sends", &["event_part", "send"]).await
            }
        ),
    ]
}

fn letters() -> Vec<UseCase> {
    vec![
        consumer!("redrive carried out", "DeadLettersFunction", &[("queue fanout-customer", 1)], |scene| {
            let id = dead_letter(scene).await;
            let redriven = scene.stack().operator().await.order(&format!("/v1/dead-letters/{id}/redrive"), "r").await;
            done(&redriven);
            scene.message("redrives").await
        }),
        consumer!("job of redrives carried out", "DeadLettersFunction", &[("dead-letters REDRIVEN", 1)], |scene| {
            dead_letter(scene).await;
            let asked = json!({"filter": {"queue": "fanout-customer"}});
            done(&scene.stack().operator().await.command("/v1/dead-letters/redrive", "job", &asked).await);
            scene.message("redrives").await
        }),
        consumer!("message that nobody can read", "DeadLettersFunction", &[("dead-letters OPEN", 1)], |scene| {
            announced(scene, &["e-1"], &["EMAIL"]).await;
            let mut event = scene.message("fanout-customer").await;
            let record = &mut event["Records"][0];
            record["attributes"]["DeadLetterQueueSourceArn"] = record["eventSourceARN"].clone();
            record["eventSourceARN"] = json!("arn:aws:sqs:us-east-1:000000000000:belfry-local-fanout-customer-dlq");
            event
        }),
    ]
}

fn sockets() -> Vec<UseCase> {
    vec![
        consumer!("socket opened", "LiveFunction", &[("live-tickets", 0)], |scene| connect(scene).await),
        consumer!("socket closed", "LiveFunction", &[("connections", 0)], |scene| {
            let connect = connect(scene).await;
            assert_eq!(scene.stack().ask_function("LiveFunction", connect).await["statusCode"], 200);
            serde_json::from_str(include_str!("../../../infra/events/live-disconnect.json")).expect("JSON")
        }),
    ]
}

/// A socket of Ugo's that wants to open.
async fn connect(scene: &Scene) -> Value {
    let ticket = scene.stack().customer("ugo").await.order("/v1/live/tickets", "").await;
    done(&ticket);
    let sample = include_str!("../../../infra/events/live-connect.json");
    let mut connect: Value = serde_json::from_str(sample).expect("JSON");
    connect["queryStringParameters"]["ticket"] = ticket.json()["ticket"].clone();
    connect["multiValueQueryStringParameters"]["ticket"] = json!([ticket.json()["ticket"]]);
    connect
}

/// Ugo, who can be reached through every channel.
pub async fn customer(scene: &Scene) {
    let details = json!({
        "name": "Ugo", "email": "ugo@example.com", "phone": "+390612345678", "push_tokens": ["token-1"],
        "slack_webhook_url": "https://hooks.slack.com/services/T/B/secret",
    });
    scene.stack().recipient("CUSTOMER", "ugo", details).await;
}

/// Events that tell Ugo something through these channels.
pub async fn announced(scene: &Scene, ids: &[&str], channels: &[&str]) {
    for id in ids {
        let mut event = announcement(id, "ugo", "Hear, hear");
        event["payload"]["channels"] = json!(channels);
        event["payload"]["urgent"] = json!(true);
        done(&scene.stack().source().await.hand_in(&event).await);
    }
}
