//! The event types that Belfry's own commands and consumers produce.
//!
//! Nobody else may: the API refuses them at the door, and a routing file that marks one as a source's is an error. A
//! source's types are not listed here; they come into being with their routes.

/// Every type of our own.
const OWN: [&str; 22] = [
    "EntitlementGranted",
    "EntitlementRevoked",
    "ReservationRequested",
    "ReservationAccepted",
    "ReservationRejected",
    "ReservationCancelled",
    "OrderPlaced",
    "OrderValidated",
    "OrderRejected",
    "OrderPaid",
    "PaymentFailed",
    "OrderCompleted",
    "OrderFailed",
    "OrderCancelled",
    "StockSold",
    "StockReleased",
    "PaymentRefunded",
    "NotificationActed",
    "DeadLetterRedriven",
    "DeadLetterDiscarded",
    "DeadLettersRedriveRequested",
    "OutboxRepublished",
];

/// Whether only Belfry itself may say that this happened.
pub fn own(event_type: &str) -> bool {
    OWN.contains(&event_type)
}
