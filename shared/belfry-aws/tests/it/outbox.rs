//! The outbox: the committing transaction decides where an event goes.

use belfry_aws::item::{AttributeValue, text_of};
use belfry_aws::{Context, EventDraft, Item, relay, tables};
use serde_json::{Value, json};

use crate::library::{TABLES, borrow, respond};
use crate::world::{World, records, request};

async fn borrowed(world: &World) -> Vec<Item> {
    let request = request("desk", "k", &json!(null));
    world.belfry.execute(&request, &borrow("QA76", "ada"), respond).await.expect("executed");
    world.items(tables::EVENTS).await
}

fn event_type(body: &str) -> String {
    serde_json::from_str::<Value>(body).expect("JSON")["type"].as_str().expect("a type").to_owned()
}

#[tokio::test]
async fn an_event_reaches_every_destination_once_however_often_its_record_comes() {
    let world = World::new(&TABLES).await;
    let images = borrowed(&world).await;
    for _ in 0..3 {
        let response = relay(&world.belfry).batch(&records(&images)).await;
        assert!(response.batch_item_failures.is_empty());
    }
    for queue in ["reminders", "fines"] {
        assert_eq!(world.queued(queue).await.iter().map(|body| event_type(body)).collect::<Vec<_>>(), ["BookBorrowed"]);
    }
    assert_eq!(world.column(tables::EVENTS, "status").await, ["PUBLISHED"]);
}

#[tokio::test]
async fn an_event_of_an_unknown_type_goes_where_its_entry_says() {
    let world = World::new(&TABLES).await;
    let mut image = borrowed(&world).await.remove(0);
    image.insert("event_type".to_owned(), AttributeValue::S("BookDigitised".to_owned()));
    for destinations in
        [AttributeValue::L(vec![AttributeValue::S("fines".to_owned())]), AttributeValue::Ss(vec!["fines".to_owned()])]
    {
        image.insert("destinations".to_owned(), destinations);
        world.put(tables::EVENTS, &image).await;
        assert!(
            relay(&world.belfry).batch(&records(std::slice::from_ref(&image))).await.batch_item_failures.is_empty()
        );
        assert_eq!(
            world.queued("fines").await.iter().map(|body| event_type(body)).collect::<Vec<_>>(),
            ["BookDigitised"]
        );
        assert!(world.queued("reminders").await.is_empty());
        assert_eq!(world.column(tables::EVENTS, "status").await, ["PUBLISHED"]);
    }
}

#[tokio::test]
async fn an_old_relay_does_not_publish_an_event_whose_destinations_it_does_not_understand() {
    let world = World::new(&TABLES).await;
    let mut image = borrowed(&world).await.remove(0);
    image.insert("event_type".to_owned(), AttributeValue::S("BookDigitised".to_owned()));
    for destinations in [None, Some(AttributeValue::S("a new form".to_owned()))] {
        image.remove("destinations");
        image.extend(destinations.map(|destinations| ("destinations".to_owned(), destinations)));
        world.put(tables::EVENTS, &image).await;
        let response = relay(&world.belfry).batch(&records(std::slice::from_ref(&image))).await;
        assert_eq!(response.batch_item_failures.len(), 1);
        assert_eq!(world.column(tables::EVENTS, "status").await, ["PENDING"]);
    }
}

#[tokio::test]
async fn an_entry_without_destinations_goes_where_this_release_would_send_it() {
    let world = World::new(&TABLES).await;
    let mut image = borrowed(&world).await.remove(0);
    image.remove("destinations");
    world.put(tables::EVENTS, &image).await;
    relay(&world.belfry).batch(&records(&[image])).await;
    assert_eq!((world.queued("reminders").await.len(), world.queued("fines").await.len()), (1, 1));
    assert_eq!(world.column(tables::EVENTS, "status").await, ["PUBLISHED"]);
}

#[tokio::test]
async fn an_event_that_nobody_wants_is_published_at_once() {
    let world = World::new(&TABLES).await;
    let ctx = Context::begin();
    let event = EventDraft::new("ShelfDusted", ("Shelf", "7"), &json!({}));
    world.belfry.commit(&ctx, ctx.commit().event(event)).await.expect("committed");
    relay(&world.belfry).batch(&records(&world.items(tables::EVENTS).await)).await;
    assert_eq!(world.column(tables::EVENTS, "status").await, ["PUBLISHED"]);
}

#[tokio::test]
async fn the_sweeper_publishes_what_the_stream_did_not() {
    let world = World::with(&TABLES, |mut config| {
        config.stream_grace = std::time::Duration::ZERO;
        config
    })
    .await;
    borrowed(&world).await;
    let swept = world.belfry.sweep_outbox(std::time::Duration::from_secs(20)).await.expect("swept");
    assert_eq!((swept.published, swept.unpublished), (1, 0));
    assert_eq!((world.queued("reminders").await.len(), world.queued("fines").await.len()), (1, 1));
    assert_eq!(world.belfry.sweep_outbox(std::time::Duration::from_secs(20)).await.expect("swept").published, 0);
}

#[tokio::test]
async fn an_unavailable_queue_postpones_its_destination_and_the_others_get_no_second_message() {
    let world = World::with(&TABLES, |mut config| {
        config.queues.remove("fines");
        config
    })
    .await;
    let images = borrowed(&world).await;
    for _ in 0..2 {
        assert_eq!(relay(&world.belfry).batch(&records(&images)).await.batch_item_failures.len(), 1);
    }
    assert_eq!(world.queued("reminders").await.len(), 1);
    let entry = world.items(tables::EVENTS).await.remove(0);
    assert_eq!(text_of(&entry, "status"), Some("PENDING"));
    assert_eq!(text_of(&entry, "attempt_count"), Some("0"), "an outage does not count");
    let error = text_of(&entry, "last_error");
    assert_eq!(error, Some("queue unavailable: BELFRY_FINES_QUEUE_URL is not set"));
}
