//! The use cases whose cost is documented, each played on a stack of its own and metered.

use std::collections::BTreeMap;

use engine::{Engine, Ports};
use local::{Endpoints, Options};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::meter::{Meter, Units};
use crate::{Caller, Stack, announcement};

/// What one use case took of one function.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The use case.
    pub use_case: &'static str,
    /// The function, by its logical id.
    pub function: String,
    /// What it used.
    pub units: Units,
}

/// A stack behind meters.
struct Metered {
    stack: Stack,
    engine: Engine,
    meters: [Meter; 2],
    costs: Vec<Cost>,
}

/// Plays every use case once.
pub async fn measure() -> Vec<Cost> {
    let mut metered = Metered::start().await;
    metered.entitlements().await;
    metered.mailed().await;
    metered.events_and_recipients().await;
    metered.inbox().await;
    metered.restaurant().await;
    metered.order().await;
    metered.dead_letter().await;
    let Metered { stack, engine, costs, .. } = metered;
    stack.stop().await;
    engine.stop().await;
    costs
}

impl Metered {
    async fn start() -> Self {
        let engine = Engine::start(Ports::default()).await.expect("the engines start");
        let meters = [Meter::start(engine.dynamodb_url()).await, Meter::start(engine.sqs_url()).await];
        let [dynamodb, sqs] = [0, 1].map(|index: usize| meters[index].url().to_owned());
        let endpoints = Some(Endpoints { dynamodb, sqs });
        let stack = Stack::with(Options { endpoints, ..Options::default() }).await;
        Self { stack, engine, meters, costs: Vec::new() }
    }

    /// Waits until everything has come to rest, and writes down what it took.
    async fn note(&mut self, use_case: &'static str) {
        self.stack.idle().await;
        for (function, units) in self.taken() {
            // The sweeper comes by the clock, for nobody in particular.
            let is_concerned = function.ends_with("Function") && function != "SweepFunction";
            if is_concerned && units != Units::default() {
                self.costs.push(Cost { use_case, function, units });
            }
        }
    }

    /// What was used since the last time, by function.
    fn taken(&self) -> BTreeMap<String, Units> {
        let mut taken: BTreeMap<String, Units> = BTreeMap::new();
        for (function, units) in self.meters.iter().flat_map(Meter::take) {
            *taken.entry(function).or_default() += units;
        }
        taken
    }

    /// Forgets what preparing took.
    async fn begin(&self) {
        self.stack.idle().await;
        self.taken();
    }

    async fn entitlements(&mut self) {
        let shop = self.stack.shop().await;
        self.begin().await;
        granted(&shop, "g-1", "nobody", StatusCode::OK).await;
        self.note("a grant, told to a customer without an address").await;
        granted(&shop, "g-1", "nobody", StatusCode::OK).await;
        self.note("its replay").await;
        granted(&shop, "g-1", "somebody", StatusCode::CONFLICT).await;
        self.note("its key for another request").await;
        granted(&shop, "g-2", "nobody", StatusCode::CONFLICT).await;
        self.note("a grant of what is granted").await;
        let revoked = shop.command("/v1/entitlements/revokes", "v-1", &unit("nobody")).await;
        assert_eq!(revoked.status, StatusCode::OK, "{}", revoked.text);
        self.note("a revoke, told to the same").await;
    }

    async fn events_and_recipients(&mut self) {
        let (source, clerk) =
            (self.stack.source().await, self.stack.caller("c", "ADMIN_USER", &["recipients:write"]).await);
        self.begin().await;
        let handed_in = source.hand_in(&announcement("e-1", "nobody", "Hear, hear")).await;
        assert_eq!(handed_in.status, StatusCode::ACCEPTED, "{}", handed_in.text);
        self.note("an event handed in, told to the same").await;
        let handed_in = source.hand_in(&announcement("e-1", "nobody", "Hear, hear")).await;
        assert_eq!(handed_in.status, StatusCode::ACCEPTED, "{}", handed_in.text);
        self.note("the same event handed in again").await;
        let stored =
            clerk.put("/v1/recipients/RESTAURANT_USER/rosa", &json!({"name": "Rosa", "restaurant_id": "r-2"})).await;
        assert_eq!(stored.status, StatusCode::OK, "{}", stored.text);
        self.note("a recipient of a group stored").await;
    }

    /// A dead letter, and its redrive.
    async fn dead_letter(&mut self) {
        let operator = self.stack.operator().await;
        self.begin().await;
        self.stack.inject("fanout-customer", "poison").await;
        self.note("a message that nobody can read").await;
        let letters = operator.get("/v1/dead-letters?status=OPEN").await;
        self.note("a page of dead letters").await;
        let id = letters.json()["dead_letters"][0]["dead_letter_id"].as_str().unwrap_or_default().to_owned();
        let discarded = operator.order(&format!("/v1/dead-letters/{id}/discard"), "d-1").await;
        assert_eq!(discarded.status, StatusCode::OK, "{}", discarded.text);
        self.note("a dead letter discarded").await;
    }

    async fn mailed(&mut self) {
        let shop = self.stack.shop().await;
        self.stack.recipient("CUSTOMER", "ada", json!({"name": "Ada", "email": "ada@example.com"})).await;
        self.begin().await;
        granted(&shop, "g-3", "ada", StatusCode::OK).await;
        self.note("a grant, told by one mail").await;
    }

    async fn inbox(&mut self) {
        let ada = self.stack.customer("ada").await;
        self.begin().await;
        let inbox = ada.get("/v1/inbox").await;
        self.note("reading an inbox").await;
        let id = inbox.json()["notifications"][0]["notification_id"].as_str().unwrap_or_default().to_owned();
        let read = ada.order(&format!("/v1/notifications/{id}/read"), "r-1").await;
        assert_eq!(read.status, StatusCode::OK, "{}", read.text);
        self.note("marking a notification read").await;
        let read = ada.order("/v1/inbox/read-all", "r-2").await;
        assert_eq!(read.status, StatusCode::OK, "{}", read.text);
        self.note("marking all read").await;
    }

    async fn restaurant(&mut self) {
        let staff = (0..10).map(|number| {
            let id = format!("staff-{number}");
            let details = json!({"name": id, "email": format!("{id}@example.com"), "restaurant_id": "r-1"});
            (id, details)
        });
        self.stack.recipients("RESTAURANT_USER", staff).await;
        let ada = self.stack.customer("ada").await;
        self.begin().await;
        let body: Value = json!({
            "customer_id": "ada", "restaurant_id": "r-1", "party_size": 2, "slot_time": "2031-01-01T19:00:00Z",
        });
        let requested = ada.command("/v1/reservations", "res-1", &body).await;
        assert_eq!(requested.status, StatusCode::CREATED, "{}", requested.text);
        self.note("a reservation, told to a staff of ten").await;
        let member = self.stack.caller("staff-0", "RESTAURANT_USER", &[]).await;
        let inbox = member.get("/v1/inbox?limit=1").await.json();
        let id = inbox["notifications"][0]["notification_id"].as_str().unwrap_or_default().to_owned();
        self.begin().await;
        let body = json!({"action_type": "CONFIRMED"});
        let acted = member.command(&format!("/v1/notifications/{id}/actions"), "a-1", &body).await;
        assert_eq!(acted.status, StatusCode::OK, "{}", acted.text);
        self.note("its confirmation by one of them, told to the customer").await;
    }

    async fn order(&mut self) {
        let operator = self.stack.operator().await;
        let stock = json!({"available": 10, "unit_price": 1200, "currency": "EUR"});
        let put = operator.send(operator.request(Method::PUT, "/v1/inventory/wine").json(&stock)).await;
        assert_eq!(put.status, StatusCode::OK, "{}", put.text);
        let nobody = self.stack.customer("nobody").await;
        self.begin().await;
        let body = json!({"customer_id": "nobody", "lines": [{"stock_keeping_unit": "wine", "quantity": 1}]});
        let placed = nobody.command("/v1/orders", "o-1", &body).await;
        assert_eq!(placed.status, StatusCode::CREATED, "{}", placed.text);
        self.note("an order of one line, completed").await;
    }
}

fn unit(user_id: &str) -> Value {
    json!({"user_id": user_id, "stock_keeping_unit": "premium", "reason": "PURCHASE", "purchase_id": "p-1"})
}

async fn granted(shop: &Caller, key: &str, user_id: &str, status: StatusCode) {
    let answer = shop.grant(key, user_id, "premium").await;
    assert_eq!(answer.status, status, "{}", answer.text);
}
