//! `$connect`: a ticket opens one socket.
//!
//! Reads whose ticket it is, then uses it up and stores the socket in one transaction: of any number that come with the
//! same ticket, one opens. Two round trips, six write units. Why a ticket is no good is not told: unknown, used and run out
//! look alike.

use domain::Time;
use domain::live::Ticket;
use ledger::live_tickets::Holder;
use ledger::{LedgerError, Outcome};

use crate::{Answer, Live};

impl Live {
    pub(crate) async fn connect(&self, connection_id: &str, ticket: Option<&str>) -> Result<Answer, LedgerError> {
        let Some(ticket) = ticket.and_then(|text| Ticket::parse(text).ok()) else { return Ok(refused("no ticket")) };
        let now = Time::now();
        let Some(Holder { user_type, user_id }) = self.tickets.holder(&self.ledger, &ticket, now).await? else {
            return Ok(refused("no such ticket"));
        };
        let mut writes = vec![self.tickets.consume(&ticket, now)?];
        writes.extend(self.connections.open(user_type, &user_id, connection_id, now)?);
        match self.ledger.commit(&writes).await? {
            Outcome::Committed => {}
            // API Gateway gives no id twice: the socket is there because an earlier attempt, whose answer was lost,
            // stored it.
            Outcome::Raced(raced) if raced.lost(&self.connections.key_of(user_type, &user_id, connection_id)) => {}
            Outcome::Raced(_) => return Ok(refused("the ticket was used meanwhile")),
        }
        tracing::info!(connection_id, user_type = user_type.as_str(), user_id = user_id.as_str(), "socket opened");
        Ok(Answer::OK)
    }
}

fn refused(reason: &str) -> Answer {
    tracing::info!(reason, "socket refused");
    Answer::UNAUTHENTICATED
}
