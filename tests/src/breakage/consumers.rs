//! What streams, queues and sockets hand to functions.

use futures_util::FutureExt;
use providers::{Fault, Mode, Target};
use serde_json::{Value, json};

use super::commands::{dead_letter, done, ordered, stocked};
use super::{Scene, Unknown, UseCase};
use crate::announcement;

/// Every consumer.
pub fn all() -> Vec<UseCase> {
    [relay(), fan_out(), deliver(), saga(), letters(), sockets()].into_iter().flatten().collect()
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

fn fan_out() -> Vec<UseCase> {
    vec![
        consumer!(
            "customer told",
            "FanoutFunction",
            &[("notifications", 1), ("sends PENDING", 4), ("processed", 1)],
            |scene| {
                customer(scene).await;
                announced(scene, &["e-1"], &["EMAIL", "SMS", "PUSH", "SLACK"]).await;
                scene.message("fanout-customer").await
            }
        ),
        consumer!(
            "staff of 45 told, in three transactions",
            "FanoutFunction",
            &[("notifications", 45), ("sends PENDING", 45), ("processed", 1)],
            |scene| {
                let person = |n: usize| {
                    let email = format!("s-{n}@example.com");
                    (format!("s-{n:02}"), json!({"name": "Staff", "restaurant_id": "r-1", "email": email}))
                };
                scene.stack().recipients("RESTAURANT_USER", (0..45).map(person)).await;
                let mut event = announcement("e-1", "", "Hear, hear");
                event["payload"] = json!({
                    "title": "Hear, hear", "body": "All of it.", "audience": "RESTAURANT_USER",
                    "restaurant_id": "r-1", "channels": ["EMAIL"],
                });
                done(&scene.stack().source().await.hand_in(&event).await);
                scene.message("fanout-restaurant-user").await
            }
        ),
    ]
}

fn deliver() -> Vec<UseCase> {
    vec![
        consumer!(
            "mail sent",
            "DeliverEmailFunction",
            &[("sends SENT", 1), ("EMAIL", 1)],
            Some(Unknown::Resent),
            |scene| to_send(scene, "EMAIL", "deliver-email").await
        ),
        consumer!(
            "text message sent",
            "DeliverSmsFunction",
            &[("sends SENT", 1), ("SMS", 1)],
            Some(Unknown::Held),
            |scene| to_send(scene, "SMS", "deliver-sms").await
        ),
        consumer!(
            "push message sent",
            "DeliverPushFunction",
            &[("sends SENT", 1), ("PUSH", 1)],
            Some(Unknown::Resent),
            |scene| to_send(scene, "PUSH", "deliver-push").await
        ),
        consumer!(
            "Slack message sent",
            "DeliverSlackFunction",
            &[("sends SENT", 1), ("SLACK", 1)],
            Some(Unknown::Resent),
            |scene| to_send(scene, "SLACK", "deliver-slack").await
        ),
        consumer!(
            "mail refused: given up with a dead letter",
            "DeliverEmailFunction",
            &[("sends FAILED", 1), ("dead-letters OPEN", 1), ("EMAIL", 0)],
            |scene| {
                scene.providers().set_fault(Fault { target: Target::Email, mode: Mode::Reject, times: None });
                to_send(scene, "EMAIL", "deliver-email").await
            }
        ),
    ]
}

fn saga() -> Vec<UseCase> {
    vec![
        consumer!(
            "stock reserved",
            "InventoryFunction",
            &[("stock available in all", 7), ("stock reserved in all", 3), ("events PENDING", 1)],
            |scene| {
                ordered(scene).await;
                scene.message("inventory").await
            }
        ),
        consumer!(
            "order charged",
            "PaymentFunction",
            &[("payments CHARGED", 1), ("PAYMENT POST confirm", 1), ("events PENDING", 1)],
            |scene| {
                ordered(scene).await;
                scene.message("payment").await
            }
        ),
        consumer!(
            "charge declined",
            "PaymentFunction",
            &[("PAYMENT POST confirm", 0), ("events PENDING", 1)],
            |scene| {
                scene.providers().set_fault(Fault { target: Target::Payment, mode: Mode::Reject, times: None });
                ordered(scene).await;
                scene.message("payment").await
            }
        ),
        consumer!(
            "order refunded",
            "PaymentFunction",
            &[("payments REFUNDED", 1), ("PAYMENT POST /v1/refunds", 1)],
            |scene| {
                let id = ordered(scene).await;
                let charge = scene.message("payment").await;
                scene.stack().invoke("PaymentFunction", charge).await;
                cancelled(scene, &id).await;
                scene.message("payment").await
            }
        ),
        consumer!("cancelled before it was charged", "PaymentFunction", &[("payments CLOSED", 1)], |scene| {
            let id = ordered(scene).await;
            // The charge is on its way, and the cancel overtakes it.
            scene.message("payment").await;
            cancelled(scene, &id).await;
            scene.message("payment").await
        }),
        consumer!(
            "charge of what is cancelled: stopped",
            "PaymentFunction",
            &[("payments CLOSED", 1), ("PAYMENT POST confirm", 0)],
            |scene| {
                let id = ordered(scene).await;
                let charge = scene.message("payment").await;
                cancelled(scene, &id).await;
                let cancel = scene.message("payment").await;
                scene.stack().invoke("PaymentFunction", cancel).await;
                charge
            }
        ),
        consumer!(
            "too little stock: rejected",
            "InventoryFunction",
            &[("stock available in all", 10), ("stock reserved in all", 0), ("events PENDING", 1)],
            |scene| {
                ordered_too_much(scene).await;
                scene.message("inventory").await
            }
        ),
        consumer!("order failed", "OrderFunction", &[("orders FAILED", 1)], |scene| {
            ordered_too_much(scene).await;
            scene.message("order").await
        }),
        consumer!("order hears of its stock", "OrderFunction", &[("orders VALIDATED", 1)], |scene| {
            ordered(scene).await;
            scene.message("order").await
        }),
        consumer!("stock released", "InventoryFunction", &[("stock available in all", 10)], |scene| {
            scene.providers().set_fault(Fault { target: Target::Payment, mode: Mode::Reject, times: None });
            ordered(scene).await;
            second(scene, "inventory", "InventoryFunction").await
        }),
        consumer!("stock sold", "InventoryFunction", &[("stock sold in all", 3)], |scene| {
            ordered(scene).await;
            second(scene, "inventory", "InventoryFunction").await
        }),
        consumer!("order completed", "OrderFunction", &[("orders COMPLETED", 1)], |scene| {
            ordered(scene).await;
            second(scene, "order", "OrderFunction").await
        }),
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
            record["eventSourceARN"] = json!("arn:aws:sqs:us-east-1:000000000000:belfry-fanout-customer-dlq");
            event
        }),
    ]
}

fn sockets() -> Vec<UseCase> {
    vec![consumer!("socket closed", "LiveFunction", &[("connections", 0)], |scene| {
        let ticket = scene.stack().customer("ugo").await.order("/v1/live/tickets", "").await;
        done(&ticket);
        let mut connect: Value =
            serde_json::from_str(include_str!("../../../infra/events/live-connect.json")).expect("JSON");
        connect["queryStringParameters"]["ticket"] = ticket.json()["ticket"].clone();
        assert_eq!(scene.stack().ask_function("LiveFunction", connect).await["statusCode"], 200);
        serde_json::from_str(include_str!("../../../infra/events/live-disconnect.json")).expect("JSON")
    })]
}

/// Ugo, who can be reached through every channel.
async fn customer(scene: &Scene) {
    let details = json!({
        "name": "Ugo", "email": "ugo@example.com", "phone": "+390612345678", "push_tokens": ["token-1"],
        "slack_webhook_url": "https://hooks.slack.com/services/T/B/secret",
    });
    scene.stack().recipient("CUSTOMER", "ugo", details).await;
}

/// Events that tell Ugo something through these channels.
async fn announced(scene: &Scene, ids: &[&str], channels: &[&str]) {
    for id in ids {
        let mut event = announcement(id, "ugo", "Hear, hear");
        event["payload"]["channels"] = json!(channels);
        event["payload"]["urgent"] = json!(true);
        done(&scene.stack().source().await.hand_in(&event).await);
    }
}

async fn to_send(scene: &Scene, channel: &str, queue: &str) -> Value {
    customer(scene).await;
    announced(scene, &["e-1"], &[channel]).await;
    scene.message(queue).await
}

async fn cancelled(scene: &Scene, order_id: &str) {
    done(&scene.stack().customer("ugo").await.order(&format!("/v1/orders/{order_id}/cancel"), "cancel").await);
}

/// More bottles than there are.
async fn ordered_too_much(scene: &Scene) {
    stocked(scene).await;
    let lines = json!({"customer_id": "ugo", "lines": [{"stock_keeping_unit": "wine", "quantity": 11}]});
    done(&scene.stack().customer("ugo").await.command("/v1/orders", "before", &lines).await);
}

/// The second message of a queue; the first is done by the host's own function.
async fn second(scene: &Scene, queue: &str, function: &str) -> Value {
    let first = scene.message(queue).await;
    scene.stack().invoke(function, first).await;
    scene.message(queue).await
}
