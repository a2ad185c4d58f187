//! A host that dies at a call of a group's fan-out, before the call or after it, in any chunk: with the next host
//! everybody is told once, through each channel once.

use futures_util::StreamExt;
use harness::Fault;

use crate::staff::{CHANNELS, FAN_OUT_ALONE, NOTHING_SENT, SOON, user_id};
use crate::world::World;

/// Three chunks: nineteen, nineteen and seven.
const PEOPLE: usize = 45;

/// A call: its operation, texts that it has, and how many of the kind pass before.
type Call = (&'static str, &'static [&'static str], usize);

const CALLS: [Call; 8] = [
    // How far it has come, who is next, their addresses: of the second chunk.
    ("GetItem", &["belfry-local-event-notifications"], 1),
    ("Query", &["belfry-local-members"], 1),
    ("BatchGetItem", &["s-20", "s-21"], 0),
    // Each chunk.
    ("TransactWriteItems", &["s-00", "s-01"], 0),
    ("TransactWriteItems", &["s-20", "s-21"], 0),
    ("TransactWriteItems", &["s-40", "s-41"], 0),
    // Who of the second chunk listens.
    ("Query", &["belfry-local-connections"], 20),
    ("DeleteMessageBatch", &["belfry-local-fanout-restaurant-user"], 0),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_killed_at_any_of_its_calls_leaves_nobody_out_and_tells_nobody_twice() {
    let cells = CALLS.into_iter().flat_map(|call| [(call, Fault::HeldBefore), (call, Fault::HeldAfter)]);
    futures_util::stream::iter(cells).for_each_concurrent(4, async |(call, fault)| killed_at(call, fault).await).await;
}

async fn killed_at(call: Call, fault: Fault) {
    let (operation, texts, before) = call;
    let world = World::new(format!("{call:?}, {fault:?}"), &FAN_OUT_ALONE, &SOON).await;
    // Nothing is sent before the kill: what is sent has a test of its own.
    let host = world.host_of(&NOTHING_SENT).await;
    world.employ(&host, PEOPLE).await;
    let mut faults = vec![Fault::None; before];
    faults.push(fault);
    world.backends.break_next(operation, texts, &faults);
    world.announce_to_staff(&host).await;
    world.held().await;
    host.kill();
    world.backends.mend();
    assert!(world.backends.providers.sent(None).is_empty(), "{}", world.cell);
    let told = world.rows("notifications", ["user_id"]).await;
    let first: Vec<[String; 1]> = (0..told.len()).map(|n| [user_id(n)]).collect();
    assert_eq!(told, first, "{}: whole chunks, in their order", world.cell);
    assert!([0, 19, 38, PEOPLE].contains(&told.len()), "{}: {} are told", world.cell, told.len());
    let is_done = told.len() == PEOPLE;
    assert_eq!(world.scan("processed").await.len(), usize::from(is_done), "{}: the mark comes last", world.cell);

    let host = world.host().await;
    world.settled(&host, PEOPLE * CHANNELS.len()).await;
    world.all_reached_once(PEOPLE).await;
    let marks = world.rows("processed", ["consumer", "event_id"]).await;
    assert_eq!(marks, [["fanout:RESTAURANT_USER".to_owned(), "e".to_owned()]], "{}", world.cell);
}
