//! The services of an order: inventory, payment, and the order itself.

use futures_util::FutureExt;
use providers::{Fault, Mode, Target};
use serde_json::{Value, json};

use super::commands::{done, ordered, stocked};
use super::consumers::consumer;
use super::{Scene, UseCase};

/// Every step of the saga, and every way back.
pub fn all() -> Vec<UseCase> {
    [along_the_way(), called_off()].into_iter().flatten().collect()
}

fn along_the_way() -> Vec<UseCase> {
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

fn called_off() -> Vec<UseCase> {
    vec![
        consumer!(
            "stock released for a cancel",
            "InventoryFunction",
            &[("holds RELEASED", 1), ("stock available in all", 10), ("stock reserved in all", 0)],
            |scene| {
                let id = ordered(scene).await;
                let placed = next(scene, "inventory").await;
                scene.stack().invoke("InventoryFunction", placed).await;
                cancelled(scene, &id).await;
                next(scene, "inventory").await
            }
        ),
        consumer!(
            "cancelled before it was reserved",
            "InventoryFunction",
            &[("holds CLOSED", 1), ("stock available in all", 10)],
            |scene| {
                let id = ordered(scene).await;
                // The order is on its way, and the cancel overtakes it.
                next(scene, "inventory").await;
                cancelled(scene, &id).await;
                next(scene, "inventory").await
            }
        ),
        consumer!(
            "reserve of what is cancelled: stopped",
            "InventoryFunction",
            &[("holds CLOSED", 1), ("stock available in all", 10), ("stock reserved in all", 0)],
            |scene| {
                let id = ordered(scene).await;
                let placed = next(scene, "inventory").await;
                cancelled(scene, &id).await;
                let cancel = next(scene, "inventory").await;
                scene.stack().invoke("InventoryFunction", cancel).await;
                placed
            }
        ),
        consumer!(
            "cancelled while an intent stands",
            "PaymentFunction",
            &[("payments CLOSED", 1), ("PAYMENT POST cancel", 1), ("PAYMENT POST confirm", 0)],
            |scene| cancelled_while_charged(scene, harness::Fault::HeldBefore).await
        ),
        consumer!(
            "cancelled while it is charged: refunded",
            "PaymentFunction",
            &[("payments REFUNDED", 1), ("PAYMENT POST confirm", 1), ("PAYMENT POST /v1/refunds", 1)],
            |scene| cancelled_while_charged(scene, harness::Fault::HeldAfter).await
        ),
        consumer!("paid after a cancel", "OrderFunction", &[("orders CANCELLED", 1)], |scene| {
            let id = ordered(scene).await;
            let charge = scene.message("payment").await;
            scene.stack().invoke("PaymentFunction", charge).await;
            cancelled(scene, &id).await;
            next(scene, "order").await
        }),
        consumer!("order whose payment failed", "OrderFunction", &[("orders FAILED", 1)], |scene| {
            scene.providers().set_fault(Fault { target: Target::Payment, mode: Mode::Reject, times: None });
            ordered(scene).await;
            second(scene, "order", "OrderFunction").await
        }),
        consumer!(
            "charge given up on its last receive",
            "PaymentFunction",
            &[("dead-letters OPEN", 1), ("PAYMENT POST confirm", 0)],
            |scene| {
                scene.providers().set_fault(Fault { target: Target::Payment, mode: Mode::Unavailable, times: None });
                ordered(scene).await;
                let mut charge = scene.message("payment").await;
                charge["Records"][0]["attributes"]["ApproximateReceiveCount"] = json!("5");
                charge
            }
        ),
    ]
}

async fn cancelled(scene: &Scene, order_id: &str) {
    done(&scene.stack().customer("ugo").await.order(&format!("/v1/orders/{order_id}/cancel"), "cancel").await);
}

/// A cancel that comes when the intent is stored and whoever charged it died at the confirmation.
async fn cancelled_while_charged(scene: &Scene, died: harness::Fault) -> Value {
    let id = ordered(scene).await;
    let charge = scene.message("payment").await;
    scene.dies("PaymentFunction", charge, ("confirm", died)).await;
    cancelled(scene, &id).await;
    next(scene, "payment").await
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

/// What comes to a queue from the outbox alone: nobody else goes on meanwhile.
async fn next(scene: &Scene, queue: &str) -> Value {
    scene.stack().sweep().await;
    scene.message(queue).await
}
