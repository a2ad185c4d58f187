//! `POST /v1/dead-letters/{id}/redrive` and `/discard`: an operator decides what becomes of one dead letter.
//!
//! A command: dead letter, event (which is the audit, and makes the redrive happen) and stored answer in one
//! transaction. Two round trips, six write units and more for a long body.

use axum::extract::State;
use axum::response::Response;
use domain::dead_letter::{CannotHandle, DeadLetter};
use domain::{Fresh, Trace};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, DeadLetters, Found, Key, LedgerError};
use uuid::Uuid;

use crate::answer::Keyed;
use crate::asked::InPath;
use crate::body::NoBody;
use crate::caller::{Allowed, Operate};
use crate::dead_letters::{DeadLetterView, dead_letter_id, unknown};
use crate::error::{ApiError, Code, ErrorBody};
use crate::{Api, Shared};

/// Sends a dead letter to the consumer that gave it up, again.
#[utoipa::path(
    post,
    path = "/v1/dead-letters/{id}/redrive",
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
    api.handle_dead_letter("redrive", &id, &keyed, body, redrive).await
}

/// Decides that a dead letter need not be done.
#[utoipa::path(
    post,
    path = "/v1/dead-letters/{id}/discard",
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
    api.handle_dead_letter("discard", &id, &keyed, body, DeadLetter::discard).await
}

impl Api {
    async fn handle_dead_letter(
        &self,
        name: &'static str,
        id: &str,
        keyed: &Keyed,
        body: NoBody,
        decide: impl Fn(&DeadLetter, &str, &Fresh) -> Result<DeadLetter, CannotHandle>,
    ) -> Result<Response, ApiError> {
        let request = keyed.with_body(&body.json)?;
        let command = HandleDeadLetter {
            id: dead_letter_id(id)?,
            by: &keyed.caller.identity.subject,
            trace: &keyed.trace,
            table: &self.dead_letters,
            decide,
        };
        self.execute(name, &request, &command).await
    }
}

struct HandleDeadLetter<'a, D> {
    id: Uuid,
    by: &'a str,
    trace: &'a Trace,
    table: &'a DeadLetters,
    decide: D,
}

impl<D> Command for HandleDeadLetter<'_, D>
where
    D: Fn(&DeadLetter, &str, &Fresh) -> Result<DeadLetter, CannotHandle>,
{
    type Known = Option<DeadLetter>;

    fn begin(&self) -> Begin {
        Begin::Read
    }

    fn reads(&self) -> Vec<Key> {
        vec![self.table.key(&self.id)]
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        self.table.among(found, &self.id)
    }

    fn decide(&self, known: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        let Some(letter) = known else { return Ok(Decision::Decline(unknown().into_answer()?)) };
        match (self.decide)(letter, self.by, fresh) {
            Err(refusal) => {
                let code = match refusal {
                    CannotHandle::AlreadyHandled { .. } => Code::AlreadyHandled,
                    CannotHandle::TooOld => Code::TooOld,
                };
                Ok(Decision::Refuse(ApiError::new(code, refusal.to_string()).into_answer()?))
            }
            Ok(handled) => Ok(Decision::Commit {
                writes: vec![self.table.put(&handled)?],
                events: vec![handled.handled_event(fresh, Some(self.trace.clone()))?],
                answer: Answer::json(200, &DeadLetterView::of(handled))?,
            }),
        }
    }
}
