//! Live sockets: the ticket that opens one, a secret known to its holder alone, and what its holder is told through it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::notification::NotificationView;

/// What a live socket tells: `{"type": "read", "notification": {…}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// What has happened.
    #[serde(rename = "type")]
    pub news: News,
    /// What it has happened to, as the inbox shows it then.
    pub notification: NotificationView,
}

/// What can happen to a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// It is new.
    Notification,
    /// It was read, by its recipient or for the group.
    Read,
    /// Somebody acted on it.
    Handled,
}

/// A ticket: 32 random bytes as base64url.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket(String);

/// The text cannot be a ticket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a ticket")]
pub struct NotATicket;

impl Ticket {
    /// The ticket of these bytes, which have to be random.
    pub fn of(secret: [u8; 32]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(secret))
    }

    /// Takes what [`Ticket::of`] writes.
    pub fn parse(text: &str) -> Result<Self, NotATicket> {
        let secret = URL_SAFE_NO_PAD.decode(text).map_err(|_| NotATicket)?;
        if secret.len() == 32 { Ok(Self(text.to_owned())) } else { Err(NotATicket) }
    }

    /// The ticket in clear, for its holder.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// SHA-256 of the ticket, which is all that is stored of it. It needs no salt: nobody can try 2^256 tickets.
    pub fn hash(&self) -> String {
        hex::encode(Sha256::digest(&self.0))
    }
}

/// Says nothing of the secret: a log may hold this.
impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_read_as_it_was_written() {
        let ticket = Ticket::of([0xfb; 32]);
        assert_eq!(ticket.secret().len(), 43);
        assert_eq!(Ticket::parse(ticket.secret()), Ok(ticket.clone()));
        assert_ne!(ticket.hash(), Ticket::of([0xfa; 32]).hash());
    }

    #[test]
    fn what_is_not_a_ticket_is_refused() {
        let (short, padded) = ("A".repeat(42), format!("{}=", "A".repeat(43)));
        for text in ["", "ticket", &short, &padded, &"A".repeat(44), &"ä".repeat(43)] {
            assert_eq!(Ticket::parse(text), Err(NotATicket), "{text}");
        }
    }

    #[test]
    fn neither_debug_nor_hash_shows_the_secret() {
        let ticket = Ticket::of([7; 32]);
        assert_eq!(format!("{ticket:?}"), "Ticket(…)");
        assert!(!ticket.hash().contains(ticket.secret()));
    }
}
