//! What the items of each table hold, and whether they stand where that belongs.

use belfry_core::{Entity, Stored};
use domain::notification::Notification;
use domain::{EventId, Time};

use super::{EventRow, ToldRow};
use crate::error::Corrupt;
use crate::idempotency_keys::Record;
use crate::item::{Item, Key, from_item};
use crate::outbox::Entry;
use crate::{Aggregate, EventNotifications, Events, Notifications};

const MISPLACED: &str = "it does not stand where what it holds belongs";

/// The moment that DynamoDB's TTL goes by.
pub(super) fn expires_at(item: &Item) -> Option<Time> {
    let seconds: i64 = item.get("expires_at")?.as_n().ok()?.parse().ok()?;
    Time::from_millis(seconds.checked_mul(1_000)?)
}

pub(super) fn aggregate<A: Aggregate>(table: &str, item: &Item) -> Result<A, Corrupt> {
    let aggregate: A = from_item(table, item.clone())?;
    let key = A::key(table, &aggregate.id());
    placed(table, &key, item).map(|()| aggregate)
}

pub(super) fn entity<E: Entity>(table: &str, item: &Item) -> Result<Stored<E>, Corrupt> {
    let item = serde_dynamo::Item::from(item.clone()).into_inner();
    let unreadable = |problem: String| Corrupt { table: table.to_owned(), problem };
    let entity = Stored::<E>::from_item(item.clone()).map_err(|corrupt| unreadable(corrupt.problem))?;
    if E::place(entity.id()).is_of(&item) { Ok(entity) } else { Err(Corrupt::new(table, &MISPLACED)) }
}

/// A send, without its version.
pub(super) fn send(table: &str, item: &Item) -> Result<domain::send::ChannelSend, Corrupt> {
    aggregate::<crate::sends::Versioned>(table, item).map(|versioned| versioned.send)
}

/// An entry that cannot be read is one too: what its status says of it still counts.
pub(super) fn event(table: &str, item: &Item) -> Result<EventRow, Corrupt> {
    let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok());
    let event_id = text("event_id").cloned().unwrap_or_default();
    let event_id = EventId::parse(event_id).map_err(|error| Corrupt::new(table, &error))?;
    Ok(EventRow {
        entry: Entry::read(&event_id, item),
        event: Events::new(table).parse(item.clone()),
        due_at: text("due_at").and_then(|text| Time::parse(text).ok()),
        is_listed: item.contains_key("unpublished"),
    })
}

pub(super) fn answer(table: &str, item: &Item) -> Result<Record, Corrupt> {
    from_item(table, item.clone())
}

pub(super) fn told(table: &str, item: &Item) -> Result<ToldRow, Corrupt> {
    let told = EventNotifications::new(table, None);
    let shared = told.parse(item.clone())?;
    let key = told.key(&shared.event_id, shared.audience, &shared.group);
    placed(table, &key, item)?;
    Ok(ToldRow { shared, has_cursor: item.contains_key("cursor") })
}

pub(super) fn notification(table: &str, item: &Item) -> Result<Notification, Corrupt> {
    let notifications = Notifications::new(table, None);
    let notification = notifications.parse(item.clone())?;
    let key = notifications.key(notification.audience, &notification.user_id, notification.notification_id);
    placed(table, &key, item).map(|()| notification)
}

fn placed(table: &str, key: &Key, item: &Item) -> Result<(), Corrupt> {
    if key.is_of(item) { Ok(()) } else { Err(Corrupt::new(table, &MISPLACED)) }
}
