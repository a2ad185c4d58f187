//! What recipients do with what they were told.

use futures_util::FutureExt;
use providers::Target;
use serde_json::{Value, json};

use super::commands::{ROSA, UGO, command, posted, requested, rosa};
use super::consumers::{announced, customer};
use super::notify::to_send;
use super::scene::notification;
use super::{Request, Scene, UseCase};

/// Every command of the inbox.
pub fn all() -> Vec<UseCase> {
    vec![
        command!("shared notification read", &[("group-reads", 1), ("idempotency-keys", 2)], |scene| {
            told_staff(scene).await;
            let id = notification(&scene.stack().caller("rosa", "RESTAURANT_USER", &[]).await).await;
            posted(&format!("/v1/notifications/{id}/read"), ROSA, Value::Null)
        }),
        command!(
            "own notification read",
            &[("notifications read_at = set", 1), ("group-reads", 0), ("idempotency-keys", 1)],
            |scene| {
                customer(scene).await;
                announced(scene, &["e-1"], &["EMAIL"]).await;
                let event = scene.message("fanout-customer").await;
                scene.stack().invoke("FanoutFunction", event).await;
                let id = notification(&scene.stack().customer("ugo").await).await;
                posted(&format!("/v1/notifications/{id}/read"), UGO, Value::Null)
            }
        ),
        command!("unsubscribed by the link of a mail", &[("recipients", 1), ("EMAIL", 1)], |scene| {
            let mail = to_send(scene, "EMAIL", "deliver-email").await;
            scene.stack().invoke("DeliverEmailFunction", mail).await;
            let sent = scene.providers().sent(Some(Target::Email));
            let link = sent.first().and_then(|sent| sent.email.as_ref()?.headers.get("List-Unsubscribe"));
            let link = link.expect("a link").trim_matches(['<', '>']);
            let at = link.find("/v1/unsubscribe/").expect("a link of this API");
            let body = json!("List-Unsubscribe=One-Click");
            Request { method: "POST", path: link[at..].to_owned(), by: UGO, key: None, body }
        }),
        command!("preferences stored", &[("recipients", 1)], |scene| {
            scene.stack().recipient("RESTAURANT_USER", "rosa", rosa()).await;
            let body = json!({"preferences": [{"event_type": "*", "channel": "EMAIL", "enabled": false}]});
            Request { method: "PUT", path: "/v1/inbox/preferences".to_owned(), by: ROSA, key: None, body }
        }),
        command!("all read", &[("inboxes", 1)], |scene| {
            told_staff(scene).await;
            posted("/v1/inbox/read-all", ROSA, Value::Null)
        }),
        command!(
            "confirmation that decides a reservation",
            &[("reservations ACCEPTED", 1), ("idempotency-keys", 2)],
            |scene| {
                told_staff(scene).await;
                let id = notification(&scene.stack().caller("rosa", "RESTAURANT_USER", &[]).await).await;
                posted(&format!("/v1/notifications/{id}/actions"), ROSA, json!({"action_type": "CONFIRMED"}))
            }
        ),
        command!(
            "rejection that decides a reservation",
            &[("reservations REJECTED", 1), ("idempotency-keys", 2)],
            |scene| {
                told_staff(scene).await;
                let id = notification(&scene.stack().caller("rosa", "RESTAURANT_USER", &[]).await).await;
                posted(&format!("/v1/notifications/{id}/actions"), ROSA, json!({"action_type": "REJECTED"}))
            }
        ),
        command!("notification dismissed", &[("reservations REQUESTED", 1), ("idempotency-keys", 2)], |scene| {
            told_staff(scene).await;
            let id = notification(&scene.stack().caller("rosa", "RESTAURANT_USER", &[]).await).await;
            posted(&format!("/v1/notifications/{id}/actions"), ROSA, json!({"action_type": "DISMISSED"}))
        }),
    ]
}

/// Rosa has been told of it.
async fn told_staff(scene: &Scene) {
    requested(scene).await;
    let event = scene.message("fanout-restaurant-user").await;
    scene.stack().invoke("FanoutFunction", event).await;
}
