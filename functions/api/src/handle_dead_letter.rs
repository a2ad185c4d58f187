//! `POST /v1/dead-letters/{id}/redrive` and `/discard`: an operator decides what becomes of one dead letter.
//!
//! A command: dead letter, event (which is the audit, and makes the redrive happen) and stored answer in one
//! transaction. Two round trips, six write units and more for a long body. Discarding looks first whether the letter is a
//! send's, one round trip more: a send that is held for an operator comes to its end in the same transaction.

use axum::extract::State;
use axum::response::Response;
use belfry_http::{InPath, NoBody};
use domain::dead_letter::{CannotHandle, DeadLetter, dead_send_id};
use domain::routing::Queue;
use domain::send::SendId;
use domain::{Fresh, Trace};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::sends::Versioned;
use ledger::{Corrupt, DeadLetters, Found, Key, LedgerError, Sends};
use uuid::Uuid;

use crate::dead_letters::{DeadLetterView, dead_letter_id, unknown};
use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, Operate};
use crate::http::ledger::Keyed;
use crate::{Api, Shared};

/// Sends a dead letter to the consumer that gave it up, again.
#[utoipa::path(
    post,
    path = "/v1/dead-letters/{id}/redrive",
    security(("jwt" = ["operate"])),
    params(("id" = String, Path), ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, body = DeadLetterView),
        (status = 404, body = ErrorBody),
        (status = 409, description = "ALREADY_HANDLED, or TOO_OLD: past the retention of processed marks", body = ErrorBody),
    )
)]
pub async fn redrive_dead_letter(
    State(api): Shared,
    _: Allowed<Operate>,
    InPath(id): InPath<String>,
    keyed: Keyed,
    body: NoBody,
) -> Result<Response, ApiError> {
    let marks_kept = api.marks_kept;
    let redrive = |letter: &DeadLetter, by: &str, fresh: &Fresh| letter.redrive(by, fresh, marks_kept);
    let id = dead_letter_id(&id)?;
    api.handle_dead_letter("redrive", (id, None), &keyed, body, redrive).await
}

/// Decides that a dead letter need not be done.
#[utoipa::path(
    post,
    path = "/v1/dead-letters/{id}/discard",
    security(("jwt" = ["operate"])),
    params(("id" = String, Path), ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, body = DeadLetterView),
        (status = 404, body = ErrorBody),
        (status = 409, description = "ALREADY_HANDLED", body = ErrorBody),
    )
)]
pub async fn discard_dead_letter(
    State(api): Shared,
    _: Allowed<Operate>,
    InPath(id): InPath<String>,
    keyed: Keyed,
    body: NoBody,
) -> Result<Response, ApiError> {
    let id = dead_letter_id(&id)?;
    let order = api.order_of(id).await?;
    api.handle_dead_letter("discard", (id, order), &keyed, body, DeadLetter::discard).await
}

impl Api {
    async fn handle_dead_letter(
        &self,
        name: &'static str,
        (id, order): (Uuid, Option<SendId>),
        keyed: &Keyed,
        body: NoBody,
        decide: impl Fn(&DeadLetter, &str, &Fresh) -> Result<DeadLetter, CannotHandle>,
    ) -> Result<Response, ApiError> {
        let request = keyed.with_body(&body.json)?;
        let command = HandleDeadLetter {
            id,
            order,
            by: &keyed.caller.identity.subject,
            trace: &keyed.trace,
            table: &self.dead_letters,
            sends: &self.sends,
            decide,
        };
        self.execute(name, &request, &command).await
    }

    /// The order that a dead letter keeps, if it is the one of a send. Whose it is never changes.
    async fn order_of(&self, id: Uuid) -> Result<Option<SendId>, LedgerError> {
        let letter = self.dead_letters.get(&self.commands.ledger, &id).await?;
        let order = letter.and_then(|letter| serde_json::from_str::<SendId>(&letter.body).ok());
        // An order that died on another channel's queue is not its send's dead letter.
        let is_own =
            |order: &SendId| dead_send_id(&Queue::Deliver(order.channel).consumer(), order.notification_id) == id;
        Ok(order.filter(is_own))
    }
}

struct HandleDeadLetter<'a, D> {
    id: Uuid,
    /// Of the send that comes to its end with the dead letter.
    order: Option<SendId>,
    by: &'a str,
    trace: &'a Trace,
    table: &'a DeadLetters,
    sends: &'a Sends,
    decide: D,
}

impl<D> Command for HandleDeadLetter<'_, D>
where
    D: Fn(&DeadLetter, &str, &Fresh) -> Result<DeadLetter, CannotHandle>,
{
    type Known = (Option<DeadLetter>, Option<Versioned>);

    fn begin(&self) -> Begin {
        Begin::Read
    }

    fn reads(&self) -> Vec<Key> {
        std::iter::once(self.table.key(&self.id)).chain(self.order.iter().map(|order| self.sends.key(order))).collect()
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        let send = self.order.as_ref().map(|order| self.sends.among(found, order)).transpose();
        // A send that cannot be read must not keep its dead letter open.
        let send = send.inspect_err(|error| tracing::error!(%error, "send cannot be read")).ok();
        Ok((self.table.among(found, &self.id)?, send.flatten().flatten()))
    }

    fn decide(&self, (letter, send): &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        let Some(letter) = letter else { return Ok(Decision::Decline(unknown().into_answer()?)) };
        match (self.decide)(letter, self.by, fresh) {
            Err(refusal) => {
                let code = match refusal {
                    CannotHandle::AlreadyHandled { .. } => Code::AlreadyHandled,
                    CannotHandle::TooOld => Code::TooOld,
                };
                Ok(Decision::Refuse(ApiError::new(code, refusal.to_string()).into_answer()?))
            }
            Ok(handled) => {
                let mut writes = vec![self.table.put(&handled)?];
                if let Some(ended) = send.as_ref().and_then(|send| Some(send.becomes(send.discarded(fresh.now)?))) {
                    writes.push(self.sends.put(&ended)?);
                }
                Ok(Decision::Commit {
                    writes,
                    events: vec![handled.handled_event(fresh, Some(self.trace.clone()))?],
                    answer: Answer::json(200, &DeadLetterView::of(handled))?,
                })
            }
        }
    }
}
