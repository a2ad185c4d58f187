//! `POST /v1/outbox/{event_id}/republish`: sends an entry to all of its queues again, whatever became of it.
//!
//! A command: entry, event (the audit) and stored answer in one transaction. The changed entry wakes the relay through
//! the stream; the sweeper is behind it. Consumers skip what they have done.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use belfry_http::{InPath, NoBody};
use domain::event::{OutboxRepublished, OutboxStatus, REPUBLISHED};
use domain::{Event, EventId, Fresh, Time, Trace};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::outbox::Entry;
use ledger::{Corrupt, Events, Found, Key, LedgerError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Shared;
use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, Operate};
use crate::http::ledger::Keyed;

/// Sends an entry to all of its queues again.
#[utoipa::path(
    post,
    path = "/v1/outbox/{event_id}/republish",
    security(("jwt" = ["operate"])),
    params(("event_id" = String, Path), ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, body = Republished),
        (status = 404, body = ErrorBody),
        (status = 409, description = "TOO_OLD: past the retention of processed marks", body = ErrorBody),
        (status = 503, description = "CONTENDED: a sweeper is at it just now", body = ErrorBody),
    )
)]
pub async fn republish(
    State(api): Shared,
    _: Allowed<Operate>,
    InPath(event_id): InPath<String>,
    keyed: Keyed,
    body: NoBody,
) -> Result<Response, ApiError> {
    let request = keyed.with_body(&body.json)?;
    let event_id = EventId::parse(event_id).map_err(|_| unknown())?;
    let by = &keyed.caller.identity.subject;
    let command =
        Republish { event_id, by, trace: &keyed.trace, events: &api.commands.events, marks_kept: api.marks_kept };
    api.execute("republish", &request, &command).await
}

/// An entry on its way again.
#[derive(Debug, Serialize, ToSchema)]
pub struct Republished<'a> {
    #[schema(value_type = String)]
    event_id: &'a EventId,
    #[schema(value_type = String, example = "PENDING")]
    status: OutboxStatus,
}

struct Republish<'a> {
    event_id: EventId,
    by: &'a str,
    trace: &'a Trace,
    events: &'a Events,
    marks_kept: Duration,
}

impl Command for Republish<'_> {
    type Known = Option<Entry>;

    fn begin(&self) -> Begin {
        Begin::Read
    }

    fn reads(&self) -> Vec<Key> {
        vec![self.events.key(&self.event_id)]
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        Ok(self.events.entry(found, &self.event_id))
    }

    fn decide(&self, known: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        let Some(entry) = known else { return Ok(Decision::Decline(unknown().into_answer()?)) };
        // Ends with the lease at the latest: not an answer to be kept for a day.
        if is_held(entry, fresh.now) {
            return Err(LedgerError::Contended { attempts: 1 });
        }
        // Without the marks, whoever has done it would do it again.
        if entry.created_at.is_some_and(|created_at| created_at.plus(self.marks_kept) < fresh.now) {
            let refusal = ApiError::new(Code::TooOld, "it is older than processed marks are kept");
            return Ok(Decision::Refuse(refusal.into_answer()?));
        }
        let event = Event {
            event_id: fresh.event_id.into(),
            event_type: REPUBLISHED.to_owned(),
            aggregate_type: "OutboxEntry".to_owned(),
            aggregate_id: self.event_id.to_string(),
            version: None,
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor: Some(self.by.to_owned()),
            traceparent: Some(self.trace.clone()),
            payload: serde_json::to_value(OutboxRepublished {
                republished_event_id: self.event_id.clone(),
                status_before: entry.status,
            })?,
        };
        Ok(Decision::Commit {
            writes: vec![self.events.republish(&self.event_id, entry.status, fresh.now)?],
            events: vec![event],
            answer: Answer::json(200, &Republished { event_id: &self.event_id, status: OutboxStatus::Pending })?,
        })
    }
}

/// Whether a sweeper's lease on the entry still runs.
fn is_held(entry: &Entry, now: Time) -> bool {
    entry.status == OutboxStatus::InFlight && entry.lease_until.is_some_and(|until| until > now)
}

fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "no such event")
}
