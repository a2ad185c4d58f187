//! `$connect`: a ticket opens one connection.
//!
//! Reads the holder of the ticket, then uses the ticket up and stores the connection in one transaction: of any number of
//! requests with the same ticket, one opens. Two round trips, six write units. The response does not say why a ticket is
//! refused: unknown, used and expired tickets look alike.

use belfry_aws::{CommitOutcome, Context, Error};
use domain::live::Ticket;
use store::live_tickets::TicketHolder;
use store::{connections, live_tickets};

use crate::{Live, SocketResponse};

impl Live {
    pub(crate) async fn connect(&self, connection_id: &str, ticket: Option<&str>) -> Result<SocketResponse, Error> {
        let Some(ticket) = ticket.and_then(|text| Ticket::parse(text).ok()) else { return Ok(refused("no ticket")) };
        let now = self.belfry.now();
        let Some(TicketHolder { user_type, user_id }) = live_tickets::holder(&self.belfry, &ticket, now).await? else {
            return Ok(refused("unknown or expired ticket"));
        };
        let ctx = Context::begin().at(now);
        let [connection, owner] = connections::open(user_type, &user_id, connection_id, now)?;
        let commit = ctx.commit().write(live_tickets::consume(&ticket, now)).write(connection).write(owner);
        match self.belfry.commit(&ctx, commit).await? {
            CommitOutcome::Committed { .. } => {}
            // API Gateway never reuses an id: an earlier attempt, whose response was lost, stored the connection.
            CommitOutcome::Raced(raced) if raced.lost(&connections::place(user_type, &user_id, connection_id)) => {}
            CommitOutcome::Raced(_) => return Ok(refused("ticket already used")),
        }
        tracing::info!(connection_id, user_type = user_type.as_str(), user_id = user_id.as_str(), "connection opened");
        Ok(SocketResponse::OK)
    }
}

fn refused(reason: &str) -> SocketResponse {
    tracing::info!(reason, "connection refused");
    SocketResponse::UNAUTHENTICATED
}
