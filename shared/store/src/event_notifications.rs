//! The table of event notifications: what one event tells one audience group, and the state that the group shares.
//!
//! The key is the event, and the audience and group: the story of an event is one query.

use std::time::Duration;

use belfry_aws::commit::Expression;
use belfry_aws::id::compose;
use belfry_aws::item::{expiry, from_item, text, text_of, to_item, to_value};
use belfry_aws::{Belfry, Corrupt, Error, Item, Key, Place, Table, Timestamp, Unwritable, Write};
use domain::notification::EventNotification;
use domain::{Audience, EventId};

use crate::partition::Partition;

/// The table.
pub const TABLE: Table = Table::new("event-notifications", "event_id").range("audience_group").ttl("expires_at");

/// The attribute that says how far the fan-out has come. It is removed at the end.
const CURSOR: &str = "cursor";

/// How many event notifications of one event are read.
const MAX_GROUPS: u16 = 100;

/// How far the fan-out of an event to a group has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FanoutProgress {
    /// It has not started.
    NotStarted,
    /// Every member up to this position has a notification.
    After(String),
    /// Every member has a notification.
    Done,
}

/// The place of an event notification.
pub fn place(event_id: &EventId, audience: Audience, group: &str) -> Place {
    TABLE.at(Key::pair(event_id, compose(&[audience.as_str(), group])))
}

fn place_of(notification: &EventNotification) -> Place {
    place(&notification.event_id, notification.audience, &notification.group)
}

/// Reads an item.
pub fn parse(item: Item) -> Result<EventNotification, Corrupt> {
    from_item(TABLE.name, item)
}

fn item(notification: &EventNotification) -> Result<Item, Unwritable> {
    let mut item = to_item(notification)?;
    item.extend(place_of(notification).attributes());
    Ok(item)
}

/// Reads how far the fan-out of an event to a group has come.
pub async fn progress(belfry: &Belfry, place: &Place) -> Result<FanoutProgress, Error> {
    let Some(item) = belfry.get_item(place).await? else { return Ok(FanoutProgress::NotStarted) };
    let cursor = text_of(&item, CURSOR).map(str::to_owned);
    Ok(cursor.map_or(FanoutProgress::Done, FanoutProgress::After))
}

/// The write that stores an event notification, if it is new.
pub fn create(
    notification: &EventNotification,
    now: Timestamp,
    retention: Option<Duration>,
) -> Result<Write, Unwritable> {
    let mut item = item(notification)?;
    item.extend(expiry(now, retention));
    Ok(Write::create(place_of(notification), item))
}

/// The write that stores an event notification whose fan-out has more chunks. It does not expire until the last one.
pub fn start(notification: &EventNotification, cursor: &str) -> Result<Write, Unwritable> {
    let mut item = item(notification)?;
    item.insert(CURSOR.to_owned(), text(cursor));
    Ok(Write::create(place_of(notification), item))
}

/// The write that moves the cursor, if it is still at `from`. `None` ends the fan-out, and the item starts to expire.
pub fn advance(place: Place, from: &str, to: Option<&str>, now: Timestamp, retention: Option<Duration>) -> Write {
    let change = match (to, expiry(now, retention)) {
        (Some(to), _) => Expression::new(format!("SET #{CURSOR} = :to"), [(":to", text(to))]),
        (None, Some((name, expires))) => {
            Expression::new(format!("SET #{name} = :expires REMOVE #{CURSOR}"), [(":expires", expires)])
        }
        (None, None) => Expression::new(format!("REMOVE #{CURSOR}"), []),
    };
    Write::update(place, change).when(Expression::new(format!("#{CURSOR} = :from"), [(":from", text(from))]))
}

/// The event notifications of one event.
pub async fn of_event(belfry: &Belfry, event_id: &EventId) -> Result<Vec<EventNotification>, Error> {
    let partition = Partition::of(TABLE, event_id.as_str());
    Ok(partition.page(belfry, MAX_GROUPS, None, parse).await?.rows)
}

/// These event notifications, in this order. A place may occur more than once.
pub async fn get_all(belfry: &Belfry, places: &[Place]) -> Result<Vec<Option<EventNotification>>, Error> {
    let found = belfry.get_all(places.iter().cloned(), None).await?;
    let items = places.iter().map(|place| found.0.get(place).cloned());
    Ok(items.map(|item| item.map(parse).transpose()).collect::<Result<_, _>>()?)
}

/// The write that stores who read or handled it, where `before` has nobody and `after` has somebody, if there is still
/// nobody. `None` if there is no difference.
pub fn share(before: &EventNotification, after: &EventNotification) -> Result<Option<Write>, Unwritable> {
    let reader = after.read_by.as_ref().filter(|_| before.read_by.is_none()).map(to_value).transpose()?;
    let actor = after.handled_by.as_ref().filter(|_| before.handled_by.is_none()).map(to_value).transpose()?;
    let (mut sets, mut conditions, mut values) = (Vec::new(), vec!["attribute_exists(#event_id)"], Vec::new());
    if let Some(reader) = reader {
        sets.push("#read_by = :reader");
        conditions.push("attribute_not_exists(#read_by)");
        values.push((":reader", reader));
    }
    if let Some(actor) = actor {
        sets.push("#handled_by = :actor");
        conditions.push("attribute_not_exists(#handled_by)");
        values.push((":actor", actor));
    }
    if sets.is_empty() {
        return Ok(None);
    }
    let change = Expression::new(format!("SET {}", sets.join(", ")), values);
    Ok(Some(Write::update(place_of(before), change).when(Expression::new(conditions.join(" AND "), []))))
}
