//! Consumers: the effect of an event takes place once, however often its message is delivered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use belfry_aws::{Context, DeadLetter, Delivery, Effect, Entity, Failure, consumer, tables};
use serde_json::json;

use crate::library::{BookBorrowed, Reminder, TABLES, borrow, respond};
use crate::world::{World, request};

async fn borrowed(world: &World) -> String {
    let request = request("desk", "k", &json!(null));
    world.belfry.execute(&request, &borrow("QA76", "ada"), respond).await.expect("executed");
    world.message_of("BookBorrowed").await
}

fn remind(delivery: Delivery<BookBorrowed>) -> Effect {
    let BookBorrowed { reader, shelf_mark } = delivery.message.clone();
    let late = belfry_aws::EventDraft::new("ReminderSent", ("Reminder", delivery.id(0).to_string()), &json!({}));
    delivery.commit().create(&Reminder { reader, shelf_mark }).event(late).into()
}

#[tokio::test]
async fn a_redelivered_event_changes_nothing() {
    let world = World::new(&TABLES).await;
    let message = borrowed(&world).await;
    let ran = Arc::new(AtomicU32::new(0));
    let after = Arc::clone(&ran);
    let reminders = consumer(&world.belfry, "reminders", move |delivery: Delivery<BookBorrowed>| {
        let after = Arc::clone(&after);
        async move {
            Ok(remind(delivery).then(async move {
                after.fetch_add(1, Ordering::Relaxed);
            }))
        }
    });
    let copies = vec![message; 5];
    let batch = world.batch("reminders", 1, &copies);
    assert!(reminders.batch(batch.clone(), None).await.batch_item_failures.is_empty());
    assert!(reminders.batch(batch, None).await.batch_item_failures.is_empty());
    assert_eq!(world.items(Reminder::TABLE).await.len(), 1);
    assert_eq!(world.column(tables::EVENTS, "event_type").await, ["BookBorrowed", "ReminderSent"]);
    assert_eq!(world.items(tables::PROCESSED).await.len(), 1);
    assert_eq!(ran.load(Ordering::Relaxed), 1, "what follows the commit runs once");
}

#[tokio::test]
async fn two_consumers_process_the_same_event_each_once() {
    let world = World::new(&TABLES).await;
    let message = borrowed(&world).await;
    for queue in ["reminders", "fines"] {
        let consumer = consumer(&world.belfry, queue, async |delivery: Delivery<BookBorrowed>| {
            let BookBorrowed { shelf_mark, .. } = delivery.message.clone();
            let reader = delivery.actor().unwrap_or_default().to_owned();
            Ok(delivery.commit().create(&Reminder { reader, shelf_mark }).into())
        });
        let batch = world.batch(queue, 1, &[message.clone(), message.clone()]);
        assert!(consumer.batch(batch, None).await.batch_item_failures.is_empty());
    }
    assert_eq!(world.column(Reminder::TABLE, "reader").await, ["fines", "reminders"]);
}

#[tokio::test]
async fn a_failure_is_retried_and_on_the_last_receive_becomes_a_dead_letter() {
    let world = World::new(&TABLES).await;
    let message = borrowed(&world).await;
    let failing = consumer(&world.belfry, "reminders", async |_: Delivery<BookBorrowed>| {
        Err(Failure::Retry("the printer is jammed".to_owned()))
    });
    let again = failing.batch(world.batch("reminders", 4, std::slice::from_ref(&message)), None).await;
    assert_eq!(again.batch_item_failures.len(), 1);
    assert!(world.items(DeadLetter::TABLE).await.is_empty());
    for _ in 0..2 {
        let last = failing.batch(world.batch("reminders", 5, std::slice::from_ref(&message)), None).await;
        assert!(last.batch_item_failures.is_empty());
    }
    let reasons = world.column(DeadLetter::TABLE, "reason").await;
    assert_eq!(reasons, ["given up after 5 receives: the printer is jammed"], "one, however often it is given up");
}

#[tokio::test]
async fn one_bad_message_does_not_stop_its_batch() {
    let world = World::new(&TABLES).await;
    let message = borrowed(&world).await;
    let reminders = consumer(&world.belfry, "reminders", async |delivery: Delivery<BookBorrowed>| Ok(remind(delivery)));
    let bodies = ["not an event".to_owned(), message];
    assert!(reminders.batch(world.batch("reminders", 1, &bodies), None).await.batch_item_failures.is_empty());
    assert_eq!(world.items(Reminder::TABLE).await.len(), 1);
    let reasons = world.column(DeadLetter::TABLE, "reason").await;
    assert_eq!(reasons, ["not a CloudEvents envelope: Syntax error at line 1 column 2"]);
}

#[tokio::test]
async fn a_duplicate_that_fails_after_the_effect_is_not_a_dead_letter() {
    let world = World::new(&TABLES).await;
    let message = borrowed(&world).await;
    let batch = world.batch("reminders", 5, std::slice::from_ref(&message));
    let good = consumer(&world.belfry, "reminders", async |delivery: Delivery<BookBorrowed>| Ok(remind(delivery)));
    good.batch(batch.clone(), None).await;
    let bad = consumer(&world.belfry, "reminders", async |_: Delivery<BookBorrowed>| {
        Err(Failure::Reject("unknown reader".to_owned()))
    });
    assert!(bad.batch(batch, None).await.batch_item_failures.is_empty());
    assert!(world.items(DeadLetter::TABLE).await.is_empty());
}

#[tokio::test]
async fn ids_are_the_same_in_every_delivery() {
    let world = World::new(&TABLES).await;
    let message = borrowed(&world).await;
    let ids = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&ids);
    let watching = consumer(&world.belfry, "reminders", move |delivery: Delivery<BookBorrowed>| {
        seen.lock().expect("unpoisoned").push(delivery.id(0));
        async { Ok(Effect::done()) }
    });
    for receive in 1..4 {
        watching.batch(world.batch("reminders", receive, std::slice::from_ref(&message)), None).await;
    }
    let ids = ids.lock().expect("unpoisoned");
    assert!(ids.len() == 3 && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_ne!(ids[0], Context::begin().id(0));
}
