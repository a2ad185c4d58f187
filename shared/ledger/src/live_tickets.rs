//! Table of tickets for live sockets: whose they are, by the hash of the ticket, until they are used or run out.

use domain::live::Ticket;
use domain::{Audience, Time, UserId};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::attempt::{Fate, fate};
use crate::error::LedgerError;
use crate::item::to_item;

/// The table.
#[derive(Debug, Clone)]
pub struct LiveTickets {
    table: String,
}

/// Who may open a socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Which kind of user.
    pub user_type: Audience,
    /// The user.
    pub user_id: UserId,
}

#[derive(Serialize, Deserialize)]
struct Row {
    ticket_hash: String,
    #[serde(flatten)]
    holder: Holder,
    expires_at: i64,
}

impl LiveTickets {
    /// The table of this name.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }

    /// Remembers whose a new ticket is. One round trip, one write unit.
    pub async fn issue(
        &self,
        ledger: &Ledger,
        ticket: &Ticket,
        holder: Holder,
        expires: Time,
    ) -> Result<(), LedgerError> {
        let item = to_item(&Row { ticket_hash: ticket.hash(), holder, expires_at: expires.as_seconds() })?;
        ledger
            .attempt(|| async {
                match ledger.client.put_item().table_name(&self.table).set_item(Some(item.clone())).send().await {
                    Ok(_) => Fate::Done(()),
                    Err(error) => fate(&error),
                }
            })
            .await
    }
}
