//! `POST /v1/live/tickets`: a ticket with which the caller opens one live socket, `url?ticket=…`.
//!
//! A browser cannot put a token on a socket's handshake, and a token in a URL would end up in logs; a ticket there is used
//! up and good for a minute. That is also why this is no command: a ticket that was asked for twice costs nothing and
//! expires, while a stored answer would be a ticket in clear. One put, one write unit; the hash alone is stored.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use belfry_http::NoBody;
use domain::Time;
use domain::live::Ticket;
use ledger::live_tickets::Holder;
use serde::Serialize;
use utoipa::ToSchema;

use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::Caller;

/// Issues a ticket for one live socket.
#[utoipa::path(
    post,
    path = "/v1/live/tickets",
    responses((status = 201, body = LiveTicket), (status = 403, body = ErrorBody))
)]
pub async fn issue_live_ticket(State(api): Shared, caller: Caller, _: NoBody) -> Result<impl IntoResponse, ApiError> {
    let (user_type, user_id) = caller.as_user()?;
    let ticket = Ticket::of(rand::random());
    let expires = Time::now().plus(api.live_ticket_ttl);
    api.live_tickets.issue(&api.commands.ledger, &ticket, Holder { user_type, user_id }, expires).await?;
    let issued = LiveTicket { ticket: ticket.secret().to_owned(), url: api.live_url.clone() };
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(issued)))
}

/// A ticket and where to use it.
#[derive(Serialize, ToSchema)]
pub struct LiveTicket {
    /// Opens one socket, within a minute.
    ticket: String,
    /// Where the socket is opened, with the ticket as the query parameter `ticket`.
    url: String,
}
