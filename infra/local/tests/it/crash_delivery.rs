//! A host that dies at a call of the relay, a consumer or the sweeper, before the call or after it: with the next host
//! every event reaches its consumer, and has its effect once.

use std::sync::LazyLock;
use std::time::Duration;

use harness::Fault;
use serde_json::{Value, json};

use crate::announced::{IMPATIENT, SHORT, killed_at};
use crate::belfry::{Belfry, call};
use crate::world::{PATIENCE, Point, STREAM_OFF, World, template};

const RELAY: [Point; 3] = [
    Point::new("BatchGetItem", "belfry-local-events", 1),
    Point::new("SendMessageBatch", "belfry-local-fanout-customer", 1),
    Point::new("UpdateItem", "PUBLISHED", 1),
];

const CONSUMER: [Point; 2] = [
    Point::new("TransactWriteItems", "belfry-local-processed", 1),
    Point::new("DeleteMessageBatch", "belfry-local-fanout-customer", 0),
];

const FAILING_CONSUMER: [Point; 1] = [Point::new("ChangeMessageVisibility", "belfry-local-fanout-customer", 1)];

const SWEEPER: [Point; 4] = [
    Point::new("Query", "unpublished", 1),
    Point::new("UpdateItem", "lease_until = :until", 1),
    Point::new("SendMessageBatch", "belfry-local-fanout-customer", 0),
    Point::new("UpdateItem", "PUBLISHED", 1),
];

/// Nobody publishes but the sweeper.
static NO_STREAM: LazyLock<String> =
    LazyLock::new(|| template("no-stream", &[SHORT.as_slice(), &[STREAM_OFF]].concat()));

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_killed_at_any_of_its_calls_loses_no_event_and_none_is_told_twice() {
    killed_at(&RELAY, async |point, fault| deliver(point, fault, false).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_killed_at_any_of_its_calls_has_each_effect_once() {
    killed_at(&CONSUMER, async |point, fault| deliver(point, fault, false).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_consumer_killed_while_it_puts_its_messages_off_has_each_effect_once() {
    killed_at(&FAILING_CONSUMER, async |point, fault| deliver(point, fault, true).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweeper_killed_at_any_of_its_calls_leaves_its_entries_to_the_next() {
    killed_at(&SWEEPER, async |point, fault| sweep(point, fault).await).await;
}

async fn deliver(point: Point, fault: Fault, effects_fail: bool) {
    let world = World::new(format!("{point:?}, {fault:?}"), &IMPATIENT, &[]).await;
    let host = world.host().await;
    if effects_fail {
        // More often than the ledger's patience lasts, for each of the messages.
        world.backends.dynamodb.break_next_with(
            "TransactWriteItems",
            "belfry-local-processed",
            &[Fault::Throttled; 100],
        );
    }
    world.hold(point, fault);
    world.announce(&host).await;
    world.held().await;
    host.kill();
    world.each_effect_has_its_mark().await;
    world.backends.mend();
    let host = world.host().await;
    world.idle(&host).await;
    world.all_told_once(&host).await;
    assert!(world.dead_letters().await.is_empty(), "{}", world.cell);
}

async fn sweep(point: Point, fault: Fault) {
    // An entry is overdue at once, and a lease ends as soon as it may.
    let settings = [("BELFRY_OUTBOX_GRACE", "0s"), ("BELFRY_OUTBOX_LEASE", "1s")];
    let world = World::new(format!("{point:?}, {fault:?}"), &NO_STREAM, &settings).await;
    let host = world.host().await;
    world.announce(&host).await;
    world.hold(point, fault);
    tokio::select! {
        swept = world.sweep(&host) => panic!("{}: not held, but {swept}", world.cell),
        () = world.held() => {}
    }
    host.kill();
    world.each_effect_has_its_mark().await;
    world.backends.mend();
    let host = world.host().await;
    world.sweep_until_published(&host).await;
    world.idle(&host).await;
    world.all_told_once(&host).await;
    assert!(world.dead_letters().await.is_empty(), "{}", world.cell);
}

impl World {
    /// With nobody at work, an effect without its mark, or a mark without its effect, would be there to be seen.
    async fn each_effect_has_its_mark(&self) {
        loop {
            let marks = self.rows("processed", ["event_id"]).await;
            let effects = self.rows("notifications", ["event_id"]).await;
            // What was on its way when the host was killed may have arrived between the two.
            if self.rows("processed", ["event_id"]).await == marks {
                assert_eq!(effects, marks, "{}: effects and marks", self.cell);
                return;
            }
        }
    }

    async fn sweep(&self, host: &Belfry) -> Value {
        let event = json!({"function": "SweepFunction", "event": {"task": "outbox"}});
        call(&self.client, self.client.post(format!("{}/local/invoke", host.url())).json(&event)).await
    }

    /// Runs the sweeper until nothing is left: a claim of the killed one holds until its lease ends.
    async fn sweep_until_published(&self, host: &Belfry) {
        let published = async {
            loop {
                self.sweep(host).await;
                if self.rows("events", ["status"]).await.iter().all(|[status]| status == "PUBLISHED") {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(PATIENCE, published).await.unwrap_or_else(|_| panic!("{}: not published", self.cell));
    }
}
