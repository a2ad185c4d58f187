//! An order that is cancelled between its payment and its end. The order's queue is read by hand, so that what completes an
//! order waits until it is cancelled: what Lambda's poller would ask of SQS is asked in its name.

use aws_sdk_sqs::types::MessageSystemAttributeName;
use harness::by_hand::event;
use harness::clients;
use reqwest::StatusCode;

use super::Cost;
use super::metered::Metered;
use super::orders::stock;

/// The line that the mapping of the order's queue begins with.
const ORDER_MAPPING: &str = "{ Queue: !GetAtt OrderQueue.Arn";

/// The order's function.
const ORDER: &str = "OrderFunction";

/// Plays it, on a stack of its own.
pub async fn measure() -> Vec<Cost> {
    let mut metered = Metered::without(ORDER_MAPPING).await;
    let put = metered.stack.operator().await.put("/v1/inventory/wine", &stock()).await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.text);
    let placed = metered.ordered("o-1", 1).await;
    assert_eq!(placed.status, StatusCode::CREATED, "{}", placed.text);
    let path = format!("/v1/orders/{}", placed.json()["order_id"].as_str().expect("an id"));
    let nobody = metered.stack.customer("nobody").await;
    metered.begin().await;
    let cancelled = nobody.order(&format!("{path}/cancel"), "c-1").await;
    metered.stack.idle().await;
    metered.poll().await;
    metered.note("a paid order cancelled: stock released, payment refunded", &cancelled, StatusCode::OK).await;
    let order = nobody.get(&path).await.json();
    assert_eq!(order["status"], "CANCELLED", "{order}");
    let steps = order["steps"].as_array().expect("steps");
    let undone = |step: &str, undoes: &str| steps.iter().any(|at| at["step"] == step && at["compensates"] == undoes);
    assert!(undone("RELEASE_STOCK", "RESERVE_STOCK") && undone("REFUND_PAYMENT", "CHARGE_PAYMENT"), "{order}");
    metered.stop().await
}

impl Metered {
    /// Hands every message of the order's queue to its function, one by one.
    async fn poll(&self) {
        let sqs = clients::sqs(ORDER, self.sqs_url());
        let url = self.stack.queue_url("order").await;
        loop {
            let asked = sqs.receive_message().queue_url(&url).message_attribute_names("All");
            let received = asked
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .send()
                .await
                .expect("the queue is there");
            let messages = received.messages.unwrap_or_default();
            if messages.is_empty() {
                return;
            }
            self.stack.invoke(ORDER, event("order", &messages)).await;
            for message in messages {
                let delete = sqs.delete_message().queue_url(&url).set_receipt_handle(message.receipt_handle);
                delete.send().await.expect("the message can be deleted");
            }
            self.stack.idle().await;
        }
    }
}
