//! What the schedules do for what was left lying.

use std::time::Duration;

use futures_util::FutureExt;
use harness::{Fault, announcement};
use serde_json::json;

use super::UseCase;
use super::commands::{done, ordered};
use super::consumers::{announced, customer};
use super::scene::{ORDER_DEADLINE, SEND_LEASE};

/// Every sweep that does something.
pub fn all() -> Vec<UseCase> {
    vec![
        UseCase {
            name: "overdue events swept",
            function: "SweepFunction",
            prepare: |scene| {
                async move {
                    for id in ["e-1", "e-2"] {
                        done(&scene.stack().source().await.hand_in(&announcement(id, "ugo", "Hear, hear")).await);
                    }
                    json!({"task": "outbox"})
                }
                .boxed()
            },
            leaves: &[("events PUBLISHED", 2), ("queue fanout-customer", 2)],
            unknown: None,
        },
        UseCase {
            name: "overdue sends swept",
            function: "SweepFunction",
            prepare: |scene| {
                async move {
                    scene.stack().recipient("CUSTOMER", "ugo", json!({"name": "Ugo", "email": "u@example.com"})).await;
                    done(&scene.stack().source().await.hand_in(&announcement("e-1", "ugo", "Hear, hear")).await);
                    let event = scene.message("fanout-customer").await;
                    scene.stack().invoke("FanoutFunction", event).await;
                    json!({"task": "sends"})
                }
                .boxed()
            },
            leaves: &[("queue deliver-email", 1)],
            unknown: None,
        },
        UseCase {
            name: "send whose worker died swept",
            function: "SweepFunction",
            prepare: |scene| {
                async move {
                    customer(scene).await;
                    announced(scene, &["e-1"], &["EMAIL"]).await;
                    let event = scene.message("fanout-customer").await;
                    scene.stack().invoke("FanoutFunction", event).await;
                    // Through the stream: who is sent for by a sweeper is left alone by the next for minutes.
                    let sends = scene.stack().inserts("sends", &["event_part", "send"]).await;
                    scene.stack().invoke("OutboxStreamFunction", sends).await;
                    let order = scene.message("deliver-email").await;
                    let died = ("/v2/email/outbound-emails", Fault::HeldBefore);
                    scene.dies("DeliverEmailFunction", order, died).await;
                    scene.count_orders();
                    // Until its lease has ended.
                    tokio::time::sleep(SEND_LEASE + Duration::from_millis(50)).await;
                    json!({"task": "sends"})
                }
                .boxed()
            },
            leaves: &[("sends PROCESSING", 1), ("queue deliver-email", 1), ("EMAIL", 0)],
            unknown: None,
        },
        UseCase {
            name: "overdue order cancelled",
            function: "SweepFunction",
            prepare: |scene| {
                async move {
                    ordered(scene).await;
                    // Until its deadline has passed.
                    tokio::time::sleep(ORDER_DEADLINE + Duration::from_millis(50)).await;
                    json!({"task": "orders"})
                }
                .boxed()
            },
            leaves: &[("orders CANCELLED", 1), ("events PENDING", 2)],
            unknown: None,
        },
    ]
}
