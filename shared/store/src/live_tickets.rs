//! The table of live tickets: the holder of each ticket, by the ticket's hash, until it is used or expires.

use belfry_aws::commit::Expression;
use belfry_aws::item::{from_item, number, to_item};
use belfry_aws::{Belfry, Context, Error, Place, Table, Timestamp, Write};
use domain::live::Ticket;
use domain::{Audience, UserId};
use serde::{Deserialize, Serialize};

/// The table.
pub const TABLE: Table = Table::new("live-tickets", "ticket_hash").ttl("expires_at");

/// The user that may open a connection with a ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketHolder {
    /// The type of user.
    pub user_type: Audience,
    /// The user.
    pub user_id: UserId,
}

#[derive(Serialize, Deserialize)]
struct TicketRow {
    ticket_hash: String,
    user_type: Audience,
    user_id: UserId,
    expires_at: i64,
}

fn place(ticket: &Ticket) -> Place {
    TABLE.at(ticket.hash())
}

/// Stores a new ticket. One round trip, one write unit.
pub async fn issue(belfry: &Belfry, ticket: &Ticket, holder: TicketHolder, expires: Timestamp) -> Result<(), Error> {
    let TicketHolder { user_type, user_id } = holder;
    let row = TicketRow { ticket_hash: ticket.hash(), user_type, user_id, expires_at: expires.as_seconds() };
    let ctx = Context::begin();
    belfry.commit(&ctx, ctx.commit().write(Write::put(place(ticket), to_item(&row)?))).await.map(drop)
}

/// The holder of a ticket that has been neither used nor has expired. One round trip.
pub async fn holder(belfry: &Belfry, ticket: &Ticket, now: Timestamp) -> Result<Option<TicketHolder>, Error> {
    let Some(item) = belfry.get_item(&place(ticket)).await? else { return Ok(None) };
    let TicketRow { user_type, user_id, expires_at, .. } = from_item(TABLE.name, item)?;
    Ok((expires_at > now.as_seconds()).then_some(TicketHolder { user_type, user_id }))
}

/// The write that uses a ticket up, if it has neither been used nor has expired.
pub fn consume(ticket: &Ticket, now: Timestamp) -> Write {
    let live = Expression::new("#expires_at > :now", [(":now", number(now.as_seconds()))]);
    Write::delete(place(ticket)).when(live)
}
