//! The survey: every table read whole, page by page, for whoever checks what stands there. It reads and never writes.
//!
//! [`Survey::page`] is one page of a parallel scan, [`Survey::read`] a consistent batch get of whatever the rows of a page
//! point at. No function uses this: it is for `belfry verify` and for tests.

use std::collections::HashSet;

use belfry_core::{Entity, Stored};
use domain::entitlement::Entitlement;
use domain::notification::{EventNotification, Notification};
use domain::order::Order;
use domain::payment::Payment;
use domain::reservation::Reservation;
use domain::send::{ChannelSend, SendId};
use domain::stock::{Hold, Stock};
use domain::{Audience, Event, EventId, Time, UserId};
use uuid::Uuid;

use crate::dead_letters::HANDLED_KEPT;
use crate::error::{Corrupt, LedgerError};
use crate::idempotency_keys::Record;
use crate::item::{Item, Key};
use crate::outbox::Entry;
use crate::processed::Mark;
use crate::read::Found;
use crate::{Aggregate, Events, Ledger, Notifications, Processed, Sends};

mod parse;
mod scan;
mod versions;

pub use scan::{Place, Segment, Slice};
pub use versions::Version;

/// How long a dead letter is kept once it is handled.
pub const DEAD_LETTERS_KEPT: std::time::Duration = HANDLED_KEPT;

/// An item as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen<T> {
    /// Where it stands.
    pub key: Key,
    /// What it holds.
    pub row: T,
    /// From when on DynamoDB may delete it.
    pub expires_at: Option<Time>,
}

/// An item that is not what this version wrote, or that does not stand where what it holds belongs.
#[derive(Debug)]
pub struct Unreadable {
    /// Where it stands.
    pub key: Key,
    /// What is wrong with it.
    pub problem: Box<Corrupt>,
}

/// A table that is read whole.
#[derive(Debug)]
pub struct Whole<T> {
    table: String,
    hash: &'static str,
    range: Option<&'static str>,
    parse: fn(&str, &Item) -> Result<T, Corrupt>,
}

/// An outbox entry with the event that it holds.
#[derive(Debug)]
pub struct EventRow {
    /// How it stands.
    pub entry: Entry,
    /// The event, if it can be read.
    pub event: Result<Event, Corrupt>,
    /// When a sweeper looks at it.
    pub due_at: Option<Time>,
    /// Whether the index of unpublished entries holds it.
    pub is_listed: bool,
}

/// An event notification, and whether its group is told.
#[derive(Debug)]
pub struct ToldRow {
    /// What the group shares.
    pub shared: EventNotification,
    /// Some of the group are still to be told.
    pub has_cursor: bool,
}

/// The tables of one stack.
#[derive(Debug)]
pub struct Survey {
    ledger: Ledger,
    /// Entitlements.
    pub entitlements: Whole<Stored<Entitlement>>,
    /// Reservations.
    pub reservations: Whole<Stored<Reservation>>,
    /// Orders.
    pub orders: Whole<Stored<Order>>,
    /// Units.
    pub stock: Whole<Stored<Stock>>,
    /// What orders hold.
    pub holds: Whole<Stored<Hold>>,
    /// Payments.
    pub payments: Whole<Stored<Payment>>,
    /// Events with their outbox entries.
    pub events: Whole<EventRow>,
    /// Stored answers.
    pub answers: Whole<Record>,
    /// Event notifications.
    pub told: Whole<ToldRow>,
    /// Notifications.
    pub notifications: Whole<Notification>,
    /// Sends.
    pub sends: Whole<ChannelSend>,
    /// Dead letters.
    pub dead_letters: Whole<domain::dead_letter::DeadLetter>,
    processed: Processed,
}

impl Survey {
    /// The tables of the stack of this name.
    pub fn of_stack(ledger: Ledger, stack: &str) -> Self {
        let name = |table: &str| format!("{stack}-{table}");
        let whole = (name("processed"), std::time::Duration::ZERO);
        Self {
            ledger,
            entitlements: Whole::of_entity(name("entitlements")),
            reservations: Whole::of_entity(name("reservations")),
            orders: Whole::of_entity(name("orders")),
            stock: Whole::of_entity(name("stock")),
            holds: Whole::of_entity(name("holds")),
            payments: Whole::of_entity(name("payments")),
            events: Whole::new(name("events"), "event_id", None, parse::event),
            answers: Whole::new(name("idempotency-keys"), "caller_key", None, parse::answer),
            told: Whole::new(name("event-notifications"), "event_id", Some("audience_group"), parse::told),
            notifications: Whole::new(name("notifications"), "recipient", Some("notification_id"), parse::notification),
            sends: Whole::new(name("sends"), "event_part", Some("send"), parse::send),
            dead_letters: Whole::new(name("dead-letters"), "dead_letter_id", None, parse::aggregate),
            processed: Processed::new(whole.0, whole.1),
        }
    }

    /// These items, of any tables, each as it stands now; a key may be asked for more than once.
    pub async fn read(&self, keys: impl IntoIterator<Item = Key>) -> Result<Found, LedgerError> {
        let mut seen = HashSet::new();
        let distinct: Vec<Key> = keys.into_iter().filter(|key| seen.insert(key.clone())).collect();
        self.ledger.get_all(&distinct).await
    }

    /// One page of a table.
    pub async fn page<T>(&self, table: &Whole<T>, place: &Place, limit: u16) -> Result<Slice<T>, LedgerError> {
        table.page(&self.ledger, place, limit).await
    }

    /// The place of a consumer's mark of an event.
    pub fn mark_key(&self, consumer: &str, event_id: &EventId) -> Key {
        self.processed.key(consumer, event_id)
    }

    /// The mark among the items that were found; one that cannot be read is one.
    pub fn mark(&self, found: &Found, consumer: &str, event_id: &EventId) -> Option<Result<Mark, Corrupt>> {
        self.processed.among(found, &self.mark_key(consumer, event_id)).transpose()
    }

    /// The place of an event.
    pub fn event_key(&self, event_id: &EventId) -> Key {
        Events::new(&self.events.table).key(event_id)
    }

    /// The place of an event notification.
    pub fn told_key(&self, event_id: &EventId, audience: Audience, group: &str) -> Key {
        crate::EventNotifications::new(&self.told.table, None).key(event_id, audience, group)
    }

    /// The place of a notification.
    pub fn notification_key(&self, audience: Audience, user_id: &UserId, id: Uuid) -> Key {
        Notifications::new(&self.notifications.table, None).key(audience, user_id, id)
    }

    /// The place of a send.
    pub fn send_key(&self, id: &SendId) -> Key {
        Sends::new(&self.sends.table, None).key(id)
    }
}

impl<T> Whole<T> {
    fn new(
        table: String,
        hash: &'static str,
        range: Option<&'static str>,
        parse: fn(&str, &Item) -> Result<T, Corrupt>,
    ) -> Self {
        Self { table, hash, range, parse }
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.table
    }

    /// The item among those that were found, if it is there.
    pub fn among(&self, found: &Found, key: &Key) -> Option<Result<Seen<T>, Unreadable>> {
        found.get(key).map(|item| self.seen(item))
    }

    fn seen(&self, item: &Item) -> Result<Seen<T>, Unreadable> {
        let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default();
        let mut key = Key::new(&self.table, self.hash, text(self.hash));
        if let Some(range) = self.range {
            key = key.and(range, text(range));
        }
        match (self.parse)(&self.table, item) {
            Ok(row) => Ok(Seen { key, row, expires_at: parse::expires_at(item) }),
            Err(problem) => Err(Unreadable { key, problem: Box::new(problem) }),
        }
    }
}

impl<E: Entity> Whole<Stored<E>> {
    fn of_entity(table: String) -> Self {
        Self::new(table, E::TABLE.hash.name, E::TABLE.range.map(|range| range.name), parse::entity)
    }

    /// An entity's place.
    pub fn place(&self, id: E::Id<'_>) -> Key {
        let key = E::key(id);
        let place = Key::new(&self.table, self.hash, key.hash.to_string());
        match self.range.zip(key.range) {
            Some((name, value)) => place.and(name, value.to_string()),
            None => place,
        }
    }
}

impl<A: Aggregate> Whole<A> {
    /// An aggregate's place.
    pub fn key(&self, id: &A::Id) -> Key {
        A::key(&self.table, id)
    }
}
