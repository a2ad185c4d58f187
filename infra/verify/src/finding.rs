//! The invariants and their violations.

use std::fmt;

use serde::Serialize;

/// An invariant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Invariant {
    /// Every item can be read and has the key that its content demands.
    Readable,
    /// What a stored response names exists.
    AnswerHasEffect,
    /// An aggregate has one event per version, without gaps, up to its own version.
    OneEventPerVersion,
    /// The change that an event reports exists.
    EventHasAggregate,
    /// An unpublished event is found by the sweeper in time.
    OutboxInTime,
    /// A published event is marked as published and not listed as unpublished.
    PublishedIsSettled,
    /// Unfinished items never expire.
    OpenNeverExpires,
    /// A published event has a mark, or a dead letter, of every subscribed consumer.
    EventReachesConsumers,
    /// A fan-out with a processed mark has notified its whole group.
    MarkedIsTold,
    /// An event notification belongs to an event, its route and a mark.
    ToldBelongsToEvent,
    /// The reservation that an action decided is decided.
    ActionDecides,
    /// There is one notification per event, recipient and type.
    NotificationIsUnique,
    /// A notification belongs to an event notification and an event.
    NotificationBelongsToEvent,
    /// A notification has one send for each channel of its route, and no other.
    SendsAreTheRoutes,
    /// A send belongs to a notification.
    SendBelongsToNotification,
    /// A send that is SENT has a receipt.
    SentHasReceipt,
    /// A failed send has a dead letter.
    GivenUpHasLetter,
    /// A send is attempted in time.
    SendInTime,
    /// There is one dead letter per consumer and event, or per send.
    LetterIsUnique,
    /// A redriven message was processed.
    RedriveArrives,
    /// An order finishes in time.
    OrderInTime,
    /// The hold and payment of an order match its status.
    OrderIsSettled,
    /// A hold or payment belongs to an order.
    SagaHasOrder,
    /// The reserved and sold stock of a unit matches its orders' holds.
    StockAddsUp,
}

/// A violation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The invariant.
    pub invariant: Invariant,
    /// The table.
    pub table: String,
    /// The item's key.
    pub key: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, table, key, expected, found } = self;
        write!(f, "{invariant}: {table} {key}: expected {expected}, found {found}")
    }
}
