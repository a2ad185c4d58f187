//! From an event to those whom it concerns, and through each channel.

use futures_util::FutureExt;
use harness::announcement;
use providers::{Fault, Mode, Target};
use serde_json::{Value, json};

use super::commands::done;
use super::consumers::{announced, consumer, customer};
use super::{Scene, Unknown, UseCase};

/// The fan-out and every channel.
pub fn all() -> Vec<UseCase> {
    [fan_out(), deliver()].into_iter().flatten().collect()
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
                let group = json!({"audience": "RESTAURANT_USER", "restaurant_id": "r-1"});
                told_to(scene, group, "fanout-restaurant-user").await
            }
        ),
        consumer!(
            "all admins told",
            "FanoutFunction",
            &[("notifications", 2), ("sends PENDING", 2), ("processed", 1)],
            |scene| {
                let people = ["ada", "bea"].map(|id| (id.to_owned(), json!({"name": "A", "email": "a@example.com"})));
                scene.stack().recipients("ADMIN_USER", people).await;
                told_to(scene, json!({"audience": "ADMIN_USER"}), "fanout-admin-user").await
            }
        ),
        consumer!(
            "agency told",
            "FanoutFunction",
            &[("notifications", 1), ("sends PENDING", 1), ("processed", 1)],
            |scene| {
                let agent = json!({"name": "Ann", "agency_id": "a-1", "email": "ann@example.com"});
                scene.stack().recipient("AGENCY_USER", "ann", agent).await;
                told_to(scene, json!({"audience": "AGENCY_USER", "agency_id": "a-1"}), "fanout-agency-user").await
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
        consumer!(
            "push token that is dead: forgotten",
            "DeliverPushFunction",
            &[("sends SKIPPED", 1), ("recipients push_tokens = []", 1), ("PUSH", 0)],
            |scene| {
                scene.providers().set_fault(Fault { target: Target::Push, mode: Mode::Reject, times: None });
                to_send(scene, "PUSH", "deliver-push").await
            }
        ),
    ]
}

/// An announcement to this group by mail, on its way to be fanned out.
async fn told_to(scene: &Scene, group: Value, queue: &str) -> Value {
    let mut event = announcement("e-1", "", "Hear, hear");
    event["payload"] = group;
    event["payload"]["title"] = json!("Hear, hear");
    event["payload"]["body"] = json!("All of it.");
    event["payload"]["channels"] = json!(["EMAIL"]);
    done(&scene.stack().source().await.hand_in(&event).await);
    scene.message(queue).await
}

/// A message for Ugo, to be sent.
pub async fn to_send(scene: &Scene, channel: &str, queue: &str) -> Value {
    customer(scene).await;
    announced(scene, &["e-1"], &[channel]).await;
    scene.message(queue).await
}
