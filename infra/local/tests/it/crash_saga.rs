//! A host that dies at a call of an order's saga, before the call or after it: with the next host the order comes to its
//! end, and stock and money have moved once. So they have where the customer cancels in the meantime.

use std::sync::LazyLock;

use harness::Fault;
use providers::{Mode, Outcome, Target};
use serde_json::{Value, json};

use crate::announced::killed_at;
use crate::belfry::{Belfry, call, token};
use crate::world::{Point, World, template};

/// Every call of the three services that leaves something behind, in this process or outside.
const POINTS: [Point; 10] = [
    Point::new("TransactWriteItems", "OrderValidated", 0),
    Point::new("DeleteMessageBatch", "belfry-local-inventory", 0),
    Point::new("/v1/payment_intents", "", 0),
    Point::new("PutItem", "INTENDED", 0),
    Point::new("confirm", "", 0),
    Point::new("TransactWriteItems", "OrderPaid", 0),
    Point::new("DeleteMessageBatch", "belfry-local-payment", 0),
    Point::new("TransactWriteItems", "OrderCompleted", 0),
    Point::new("DeleteMessageBatch", "belfry-local-order", 0),
    Point::new("TransactWriteItems", "StockSold", 0),
];

/// Where the charge is under way: a cancel that comes then meets it.
const CHARGING: [Point; 4] = [
    Point::new("/v1/payment_intents", "", 0),
    Point::new("PutItem", "INTENDED", 0),
    Point::new("confirm", "", 0),
    Point::new("TransactWriteItems", "OrderPaid", 0),
];

/// What a killed service held comes back after a while that a test can wait for.
static SERVICES_COME_BACK: LazyLock<String> = LazyLock::new(|| {
    let replacements = [
        ("VisibilityTimeout: 180", "VisibilityTimeout: 8"),
        ("VisibilityTimeout: \"180\"", "VisibilityTimeout: \"8\""),
        ("VisibilityTimeout: \"540\"", "VisibilityTimeout: \"8\""),
        ("VisibilityTimeout: 720", "VisibilityTimeout: 8"),
        ("      Timeout: 30", "      Timeout: 8"),
        ("      Timeout: 90", "      Timeout: 8"),
        ("      Timeout: 120", "      Timeout: 8"),
    ];
    template("services", &replacements)
});

const SOON: [(&str, &str); 2] = [("BELFRY_BACKOFF_BASE", "1ms"), ("BELFRY_PROVIDER_TIME_LIMIT", "2s")];

#[tokio::test(flavor = "multi_thread")]
async fn a_saga_killed_at_any_of_its_calls_moves_stock_and_money_once() {
    killed_at(&POINTS, async |point, fault| {
        let (world, host, order) = caught(point, fault).await;
        let (status, piles) = world.ended(&host, &order).await;
        assert_eq!((status.as_str(), piles), ("COMPLETED", [7, 0, 3]), "{}", world.cell);
        assert_eq!(world.money(), (1, 0), "{}", world.cell);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_that_meets_a_killed_charge_leaves_neither_stock_nor_money_behind() {
    killed_at(&CHARGING, async |point, fault| {
        let (world, host, order) = caught(point, fault).await;
        let customer = json!({"sub": "u", "user_type": "CUSTOMER", "scopes": []});
        let cancelled = world.post(&host, customer, &format!("/v1/orders/{order}/cancel"), "c", &Value::Null).await;
        let cancelled = cancelled.expect("an answer").0 == 200;
        let (status, piles) = world.ended(&host, &order).await;
        let (charged, refunded) = world.money();
        if cancelled {
            assert_eq!((status.as_str(), piles), ("CANCELLED", [10, 0, 0]), "{}", world.cell);
            assert_eq!(charged, refunded, "{}", world.cell);
        } else {
            assert_eq!((status.as_str(), piles, charged, refunded), ("COMPLETED", [7, 0, 3], 1, 0), "{}", world.cell);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_that_nobody_recorded_is_still_one_when_the_provider_has_forgotten_it() {
    killed_at(&[Point::new("TransactWriteItems", "PaymentFailed", 0)], async |point, fault| {
        let world = World::new(format!("declined, {fault:?}"), &SERVICES_COME_BACK, &SOON).await;
        let host = world.host().await;
        world.stock(&host).await;
        world.hold(Point::new("confirm", "", 0), Fault::HeldBefore);
        world.hold(point, fault);
        let order = world.place(&host).await;
        world.held().await;
        // The card is declined once, and would not be again.
        world.backends.providers.set_fault(providers::Fault {
            target: Target::Payment,
            mode: Mode::Reject,
            times: Some(1),
        });
        world.backends.providers_proxy.release("confirm");
        world.held().await;
        host.kill();
        world.backends.mend();
        world.backends.providers.forget_idempotency_keys();
        let host = world.host().await;
        let (status, piles) = world.ended(&host, &order).await;
        assert_eq!((status.as_str(), piles), ("FAILED", [10, 0, 0]), "{}", world.cell);
        assert_eq!(world.money(), (0, 0), "{}", world.cell);
    })
    .await;
}

/// A host that was killed at that point of an order's saga, and the next one.
async fn caught(point: Point, fault: Fault) -> (World, Belfry, String) {
    let world = World::new(format!("{point:?}, {fault:?}"), &SERVICES_COME_BACK, &SOON).await;
    let host = world.host().await;
    world.stock(&host).await;
    world.hold(point, fault);
    let order = world.place(&host).await;
    world.held().await;
    host.kill();
    world.backends.mend();
    let host = world.host().await;
    (world, host, order)
}

impl World {
    async fn stock(&self, host: &Belfry) {
        let operator = json!({"sub": "o", "user_type": "ADMIN_USER", "scopes": ["operate"]});
        let token = token(&self.client, host.url(), operator).await;
        let body = json!({"available": 10, "unit_price": 250, "currency": "EUR"});
        let put = self.client.put(format!("{}/v1/inventory/a", host.url())).bearer_auth(token).json(&body);
        assert_eq!(call(&self.client, put).await["version"], 1, "{}", self.cell);
    }

    /// Orders three; says which order it is.
    async fn place(&self, host: &Belfry) -> String {
        let customer = json!({"sub": "u", "user_type": "CUSTOMER", "scopes": []});
        let body = json!({"customer_id": "u", "lines": [{"stock_keeping_unit": "a", "quantity": 3}]});
        let placed = self.post(host, customer, "/v1/orders", "k", &body).await.expect("an answer");
        let placed: Value = serde_json::from_str(&placed.1).expect("an order");
        placed["order_id"].as_str().expect("an id").to_owned()
    }

    /// Where the order stands once everything is at rest, and what is available, reserved and sold.
    async fn ended(&self, host: &Belfry, order: &str) -> (String, [u64; 3]) {
        self.idle(host).await;
        let letters = self.scan("dead-letters").await;
        assert!(letters.is_empty(), "{}: {letters:?}", self.cell);
        let orders = self.rows("orders", ["order_id", "status"]).await;
        let status = orders.into_iter().find(|[id, _]| id == order).expect("the order")[1].clone();
        let [piles] = self.rows("stock", ["available", "reserved", "sold"]).await.try_into().expect("one unit");
        (status, piles.map(|count: String| count.parse().expect("a count")))
    }

    /// How many payments the provider has charged, and how many it has paid back; none of them twice.
    fn money(&self) -> (usize, usize) {
        let done = self.backends.providers.sent(Some(Target::Payment)).into_iter();
        let done = done.filter(|sent| matches!(sent.outcome, Outcome::Accepted | Outcome::AnswerDropped));
        let paths: Vec<String> = done.filter_map(|sent| Some(sent.payment?.path)).collect();
        let count = |end: &str| paths.iter().filter(|path| path.ends_with(end)).count();
        let (charged, refunded) = (count("/confirm"), count("/v1/refunds"));
        assert!(charged <= 1 && refunded <= 1, "{}: {paths:?}", self.cell);
        (charged, refunded)
    }
}
