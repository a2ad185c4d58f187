//! What a message is about: the text that only messages about one thing have, and the words that tell its events apart.

use ledger::survey::EventRow;
use providers::Sent;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// One event, as messages tell it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct About {
    /// The text that every message about this purchase, announcement, reservation or order has, and no other message.
    pub mark: String,
    /// Which event of it: a reservation is requested, then accepted, then cancelled, all under one mark.
    pub event_type: String,
}

impl About {
    /// What messages about this event say, if any are sent.
    pub fn event(row: &EventRow) -> Option<Self> {
        let event = row.event.as_ref().ok()?;
        let text = |name: &str| event.payload[name].as_str();
        let mark = text("source_id")
            .or_else(|| text("title"))
            .map(str::to_owned)
            .or_else(|| text("slot_time").and_then(slot))
            .or_else(|| text("order_id").map(str::to_owned))?;
        Some(Self { mark, event_type: event.event_type.to_string() })
    }

    /// Whether a message is about it.
    pub fn is_told_by(&self, sent: &Sent) -> bool {
        let parts = [sent.subject.as_deref(), sent.body.as_deref()];
        // The words are those of the title: a text and an address may have any others.
        let title = parts.into_iter().flatten().next().unwrap_or_default();
        parts.into_iter().flatten().any(|part| part.contains(&self.mark)) && says(&self.event_type, title)
    }
}

fn slot(time: &str) -> Option<String> {
    let (year, rest) = time.split_once('-')?;
    let month: usize = rest.get(..2)?.parse().ok()?;
    Some(format!("{} {year}, 20:00", MONTHS.get(month.checked_sub(1)?)?))
}

/// Whether a title is one of this event type's, among those that share a mark with it.
fn says(event_type: &str, title: &str) -> bool {
    let any = |words: &[&str]| words.iter().any(|words| title.contains(words));
    match event_type {
        "ReservationRequested" => any(&["requested", "New reservation", "Table for"]),
        "ReservationAccepted" => any(&["confirmed"]) && !any(&["could not be confirmed"]),
        "ReservationRejected" => any(&["rejected", "could not be confirmed"]),
        "ReservationCancelled" => any(&["cancelled"]),
        "OrderCompleted" => any(&["is complete"]),
        "OrderFailed" => any(&["failed", "could not be completed"]),
        // A purchase and an announcement have one event each.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_of_one_event_type() {
        let types = [
            "ReservationRequested",
            "ReservationAccepted",
            "ReservationRejected",
            "ReservationCancelled",
            "OrderCompleted",
            "OrderFailed",
        ];
        for (title, expected) in [
            ("Reservation 7 requested", "ReservationRequested"),
            ("Your table for 2 is requested", "ReservationRequested"),
            ("New reservation: table for 2, 28 May 2100, 20:00", "ReservationRequested"),
            (
                "New reservation: table for 2, 28 May 2100, 20:00. Confirm or reject it in your notifications.",
                "ReservationRequested",
            ),
            ("Table for 2, 28 May 2100, 20:00", "ReservationRequested"),
            (
                "*Table for 2* on 28 May 2100, 20:00\nReservation `7` waits for your answer. The first of you to confirm or reject it decides.",
                "ReservationRequested",
            ),
            ("Reservation 7 confirmed", "ReservationAccepted"),
            ("Table confirmed", "ReservationAccepted"),
            ("Your table for 2 is confirmed", "ReservationAccepted"),
            ("Reservation 7 rejected", "ReservationRejected"),
            ("Your table for 2 could not be confirmed", "ReservationRejected"),
            ("Reservation 7 cancelled", "ReservationCancelled"),
            ("Your table for 2 is cancelled", "ReservationCancelled"),
            ("Order 7 is complete", "OrderCompleted"),
            ("Order 7 failed", "OrderFailed"),
            ("Order 7 could not be completed", "OrderFailed"),
        ] {
            let said: Vec<&str> = types.into_iter().filter(|event_type| says(event_type, title)).collect();
            assert_eq!(said, [expected], "{title}");
        }
    }
}
