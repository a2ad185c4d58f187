//! What can be wrong, and what a finding says.

use std::fmt;

use serde::Serialize;

/// Something that must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Invariant {
    /// Every item can be read, and stands where what it holds belongs.
    Readable,
    /// A stored answer names what is there.
    AnswerHasEffect,
    /// An aggregate has one event per version, without gaps, up to its own.
    OneEventPerVersion,
    /// An event reports a change that is there.
    EventHasAggregate,
    /// What is not published is found by a sweeper in time.
    OutboxInTime,
    /// What is published says so, and nothing else.
    PublishedIsSettled,
    /// What is not at its end never expires.
    OpenNeverExpires,
    /// A published event has a mark, or a dead letter, of every subscribed consumer.
    EventReachesConsumers,
    /// A fan-out that is marked has told its group, whole.
    MarkedIsTold,
    /// What is told belongs to an event, its route and a mark.
    ToldBelongsToEvent,
    /// What an action decides is decided.
    ActionDecides,
    /// A notification is the one of its event, recipient and type.
    NotificationIsUnique,
    /// A notification belongs to an event notification and an event.
    NotificationBelongsToEvent,
    /// A notification has one send for each channel of its route, and no other.
    SendsAreTheRoutes,
    /// A send belongs to a notification.
    SendBelongsToNotification,
    /// A send that is SENT has a receipt.
    SentHasReceipt,
    /// A send that was given up has a dead letter.
    GivenUpHasLetter,
    /// A send is tried in time.
    SendInTime,
    /// A dead letter is the one of its consumer and event, or send.
    LetterIsUnique,
    /// What was redriven arrived.
    RedriveArrives,
    /// An order comes to its end in time.
    OrderInTime,
    /// What an order holds and has paid is what its status says.
    OrderIsSettled,
    /// What is held or paid belongs to an order.
    SagaHasOrder,
    /// What is reserved and sold of a unit is what orders hold of it.
    StockAddsUp,
}

/// One thing that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// What should hold.
    pub invariant: Invariant,
    /// Where: the table.
    pub table: String,
    /// And the item's key.
    pub key: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
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
