//! Dead letters: recorded once, redriven once.

use std::time::Duration;

use belfry_aws::dead_letter::{self, DeadLetterFilter, DeadLetterStatus};
use belfry_aws::dead_letters::Order;
use belfry_aws::{Context, DeadLetter, Delivery, Entity, Failure, Stored, consumer, recorder, redriver, tables};
use serde_json::json;

use crate::library::{BookBorrowed, TABLES, borrow, respond};
use crate::world::{World, request};

async fn borrowed(world: &World) -> String {
    let request = request("desk", "k", &json!(null));
    world.belfry.execute(&request, &borrow("QA76", "ada"), respond).await.expect("executed");
    world.message_of("BookBorrowed").await
}

async fn letters(world: &World) -> Vec<Stored<DeadLetter>> {
    let filter = DeadLetterFilter::default();
    world.belfry.dead_letters(&filter, Order::NewestFirst, 50, None).await.expect("a list").rows
}

#[tokio::test]
async fn a_message_that_crashed_its_consumer_is_recorded_once() {
    let world = World::new(&TABLES).await;
    let message = borrowed(&world).await;
    let mut batch = world.batch("reminders", 1, &[message.clone(), message]);
    for message in &mut batch.records {
        message.event_source_arn = Some("arn:aws:sqs:us-east-1:000000000000:library-reminders-dlq".to_owned());
    }
    assert!(recorder(&world.belfry).batch(batch, None).await.batch_item_failures.is_empty());
    let letters = letters(&world).await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].reason, "consumer crashed, timed out, or could not record its failure");
    assert_eq!((letters[0].consumer.as_str(), letters[0].version()), ("reminders", 1));
}

#[tokio::test]
async fn a_message_that_was_processed_is_not_recorded() {
    let world = World::new(&TABLES).await;
    let message = borrowed(&world).await;
    let reminders =
        consumer(&world.belfry, "reminders", async |delivery: Delivery<BookBorrowed>| Ok(delivery.commit().into()));
    let mut batch = world.batch("reminders", 1, &[message]);
    reminders.batch(batch.clone(), None).await;
    batch.records[0].event_source_arn = Some("arn:aws:sqs:us-east-1:000000000000:library-reminders-dlq".to_owned());
    assert!(recorder(&world.belfry).batch(batch, None).await.batch_item_failures.is_empty());
    assert!(letters(&world).await.is_empty());
}

#[tokio::test]
async fn a_redrive_sends_the_message_to_its_consumer_alone() {
    let world = World::new(&TABLES).await;
    let message = borrowed(&world).await;
    let failing = consumer(&world.belfry, "reminders", async |_: Delivery<BookBorrowed>| {
        Err(Failure::Reject("unknown reader".to_owned()))
    });
    failing.batch(world.batch("reminders", 1, std::slice::from_ref(&message)), None).await;
    let letter = letters(&world).await.remove(0);
    let ctx = Context::begin().with_actor("operator");
    let month = Duration::from_secs(30 * 86_400);
    let commit = dead_letter::redriven(&letter, "operator", &ctx, month).expect("redriven");
    world.belfry.commit(&ctx, commit).await.expect("committed");
    let redrive = world.message_of(dead_letter::REDRIVEN).await;
    let batch = world.batch("redrives", 1, &[redrive.clone(), redrive]);
    assert!(redriver(&world.belfry).batch(batch, None).await.batch_item_failures.is_empty());
    assert!(!world.queued("reminders").await.is_empty());
    assert!(world.queued("fines").await.is_empty());
    let letter = letters(&world).await.remove(0);
    assert_eq!((letter.status, letter.version()), (DeadLetterStatus::Redriven, 2));
    // It fails again: the same letter opens again and remembers how it failed before.
    failing.batch(world.batch("reminders", 1, &[message]), None).await;
    let letter = letters(&world).await.remove(0);
    assert_eq!((letter.status, letter.version(), letter.past.len()), (DeadLetterStatus::Open, 3, 1));
    assert_eq!(world.items(DeadLetter::TABLE).await.len(), 1);
    assert_eq!(world.items(tables::DEAD_LETTERS).await.len(), 1);
}
