//! A host that dies at a call on the way of a dead letter, before the call or after it: what is given up on is kept
//! once, and what is redriven has its effect once.

use harness::Fault;
use serde_json::{Value, json};

use crate::announced::{IMPATIENT, killed_at, one_each};
use crate::belfry::{Belfry, call};
use crate::world::{Point, World};

const LETTER_WRITTEN: Point = Point::new("PutItem", "belfry-local-dead-letters", 1);

const GIVING_UP: [Point; 3] = [
    Point::new("GetItem", "belfry-local-processed", 1),
    LETTER_WRITTEN,
    Point::new("DeleteMessageBatch", "belfry-local-fanout-customer", 0),
];

/// Of a message that cannot be read there is no mark to look for.
const POISON: [Point; 2] = [
    Point::new("PutItem", "belfry-local-dead-letters", 0),
    Point::new("DeleteMessageBatch", "belfry-local-fanout-customer", 0),
];

const REDRIVE: [Point; 4] = [
    Point::new("GetItem", "belfry-local-dead-letters", 1),
    Point::new("SendMessage", "belfry-local-fanout-customer", 1),
    Point::new("PutItem", "redrives#", 1),
    Point::new("DeleteMessageBatch", "belfry-local-redrives", 0),
];

/// The API has counted with four queries before.
const REDRIVE_JOB: [Point; 4] = [
    Point::new("Query", "listed", 5),
    Point::new("BatchGetItem", "belfry-local-dead-letters", 0),
    Point::new("TransactWriteItems", "DeadLetterRedriven", 1),
    Point::new("PutItem", "redrives#", 0),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_killed_while_it_gives_up_leaves_one_dead_letter_that_can_be_redriven() {
    killed_at(&GIVING_UP, async |point, fault| {
        let (world, host) = World::where_effects_fail(point, fault).await;
        world.hold(point, fault);
        world.announce(&host).await;
        let host = world.killed_when_held(host).await;
        assert_eq!(world.dead_letters().await, one_each("OPEN", 1), "{}", world.cell);
        assert!(world.scan("notifications").await.is_empty(), "{}", world.cell);
        assert!(world.scan("processed").await.is_empty(), "{}", world.cell);
        world.backends.mend();
        world.redrive_each(&host).await;
        world.idle(&host).await;
        world.all_redriven_once(&host).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_succeeds_after_its_dead_letter_was_written_is_redriven_without_a_second_effect() {
    killed_at(&[LETTER_WRITTEN], async |point, fault| {
        let (world, host) = World::where_effects_fail(point, fault).await;
        world.hold(point, fault);
        world.announce(&host).await;
        world.held().await;
        host.kill();
        world.backends.mend();
        let host = world.host().await;
        world.idle(&host).await;
        let done = world.rows("processed", ["event_id"]).await;
        let letters = world.dead_letters().await;
        let is_done = |event_id: &String| done.iter().any(|[done]| done == event_id);
        let both = letters.iter().any(|[event_id, ..]| is_done(event_id));
        assert!(both || fault == Fault::HeldBefore, "{}: {letters:?} {done:?}", world.cell);
        world.redrive_each(&host).await;
        world.idle(&host).await;
        world.all_told_once(&host).await;
        let redriven = letters.into_iter().map(|[event_id, ..]| [event_id, "REDRIVEN".to_owned(), "2".to_owned()]);
        assert_eq!(world.dead_letters().await, redriven.collect::<Vec<_>>(), "{}", world.cell);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_killed_while_poison_or_a_dlq_is_written_down_leaves_one_dead_letter() {
    killed_at(&POISON, async |point, fault| {
        let world = World::new(format!("{point:?}, {fault:?}"), &IMPATIENT, &[]).await;
        let mut host = world.host().await;
        for (kept, queue) in ["fanout-customer", "fanout-customer-dlq"].into_iter().enumerate() {
            world.hold(point, fault);
            let inject = json!({"queue": queue, "body": format!("poison for {queue}")});
            call(&world.client, world.client.post(format!("{}/local/inject", host.url())).json(&inject)).await;
            host = world.killed_when_held(host).await;
            let bodies = world.rows("dead-letters", ["body", "status", "version"]).await;
            let expected =
                ["poison for fanout-customer", "poison for fanout-customer-dlq"].map(|body| [body, "OPEN", "1"]);
            assert_eq!(bodies, expected[..=kept], "{}, {queue}", world.cell);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_killed_at_any_of_its_calls_has_each_effect_once() {
    killed_at(&REDRIVE, async |point, fault| {
        redrive(point, fault, async |world, host| world.redrive_each(host).await).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_job_killed_at_any_of_its_calls_has_each_effect_once() {
    killed_at(&REDRIVE_JOB, async |point, fault| {
        redrive(point, fault, async |world, host| world.redrive_all(host).await).await
    })
    .await;
}

async fn redrive(point: Point, fault: Fault, ask: impl AsyncFn(&World, &Belfry)) {
    let (world, host) = World::where_effects_fail(point, fault).await;
    world.announce(&host).await;
    world.idle(&host).await;
    assert_eq!(world.dead_letters().await, one_each("OPEN", 1), "{}", world.cell);
    world.backends.mend();
    world.hold(point, fault);
    ask(&world, &host).await;
    let host = world.killed_when_held(host).await;
    world.all_redriven_once(&host).await;
}

impl World {
    /// A world in which no consumer's effect can be committed until it is mended, and the first failure is the last.
    async fn where_effects_fail(point: Point, fault: Fault) -> (Self, Belfry) {
        let settings = [("BELFRY_RECEIVE_COUNT", "1")];
        let world = Self::new(format!("{point:?}, {fault:?}"), &IMPATIENT, &settings).await;
        let host = world.host().await;
        world.backends.dynamodb.break_next_with(
            "TransactWriteItems",
            "belfry-local-processed",
            &[Fault::Throttled; 200],
        );
        (world, host)
    }

    /// Kills the host at the point where it is held, and hands back the next one, at rest.
    async fn killed_when_held(&self, host: Belfry) -> Belfry {
        self.held().await;
        host.kill();
        let host = self.host().await;
        self.idle(&host).await;
        host
    }

    /// Asks for each dead letter on its own.
    pub async fn redrive_each(&self, host: &Belfry) {
        for [id] in self.rows("dead-letters", ["dead_letter_id"]).await {
            self.operate(host, &format!("/v1/dead-letters/{id}/redrive"), &json!({}), 200).await;
        }
    }

    /// Asks for all of them at once, as a job.
    async fn redrive_all(&self, host: &Belfry) {
        self.operate(host, "/v1/dead-letters/redrive", &json!({"filter": {}}), 202).await;
    }

    async fn operate(&self, host: &Belfry, path: &str, body: &Value, status: u16) {
        let operator = json!({"sub": "operator", "user_type": "ADMIN_USER", "scopes": ["operate"]});
        let answer = self.post(host, operator, path, path, body).await.expect("an answer");
        assert_eq!(answer.0, status, "{}: {}", self.cell, answer.1);
    }

    /// Each dead letter was redriven by one event, and its announcement told once.
    async fn all_redriven_once(&self, host: &Belfry) {
        assert_eq!(self.dead_letters().await, one_each("REDRIVEN", 2), "{}", self.cell);
        let kinds = self.rows("events", ["event_type"]).await;
        let redriven = kinds.iter().filter(|[kind]| kind == "DeadLetterRedriven").count();
        assert_eq!(redriven, one_each("REDRIVEN", 2).len(), "{}: events", self.cell);
        self.all_told_once(host).await;
    }
}
