//! `GET /v1/events/{event_id}`: the whole story of one event, in time order.
//!
//! Two round trips: a consistent batch get of the entry, the marks and dead letters of every subscribed consumer; then
//! what it told, its sends, and the audit of what operators did, all at once. Where sends were given up, two more for
//! their dead letters. Nothing is scanned: all of it is found by keys that the event's id gives.

mod sends;

use axum::Json;
use axum::extract::State;
use belfry_http::InPath;
use domain::dead_letter::{DISCARDED, DeadLetter, REDRIVE_REQUESTED, REDRIVEN, dead_letter_id};
use domain::event::OutboxStatus;
use domain::notification::EventNotification;
use domain::routing::{Queue, Routes};
use domain::send::ChannelSend;
use domain::{EventId, Time};
use futures_util::future::{try_join_all, try_join3};
use ledger::Key;
use ledger::events::{Past, Trail};
use ledger::outbox::Entry;
use ledger::processed::Mark;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, Operate};
use crate::{Api, Shared};

/// How many redrives and discards of one dead letter are shown.
const AUDIT: u16 = 100;

/// The story of one event.
#[utoipa::path(
    get,
    path = "/v1/events/{event_id}",
    security(("jwt" = ["operate"])),
    params(("event_id" = String, Path)),
    responses((status = 200, body = Story), (status = 404, body = ErrorBody))
)]
pub async fn story(
    State(api): Shared,
    _: Allowed<Operate>,
    InPath(event_id): InPath<String>,
) -> Result<Json<Story>, ApiError> {
    let unknown = || ApiError::new(Code::NotFound, "no such event");
    let event_id = EventId::parse(event_id).map_err(|_| unknown())?;
    let (ledger, events) = (&api.commands.ledger, &api.commands.events);
    let routes = Routes::load().map_err(|error| ApiError::unexpected(&error))?;
    let consumers: Vec<String> = routes.all_queues().into_iter().map(Queue::consumer).collect();
    let letter_ids: Vec<_> = consumers.iter().map(|consumer| dead_letter_id(consumer, &event_id)).collect();
    let marks: Vec<Key> = consumers.iter().map(|consumer| api.processed.key(consumer, &event_id)).collect();
    let letters = letter_ids.iter().map(|id| api.dead_letters.key(id));
    let keys: Vec<Key> = [events.key(&event_id)].into_iter().chain(marks.iter().cloned()).chain(letters).collect();
    let found = ledger.get_all(&keys).await?;
    let entry = events.entry(&found, &event_id).ok_or_else(unknown)?;

    let mut stages = of_entry(&entry);
    let marks = marks.iter().map(|key| api.processed.among(&found, key)).filter_map(Result::transpose);
    let marks: Vec<Mark> = marks.collect::<Result<_, _>>()?;
    stages.extend(marks.iter().map(of_mark));
    let letters = letter_ids.iter().map(|id| api.dead_letters.among(&found, id)).filter_map(Result::transpose);
    let letters: Vec<DeadLetter> = letters.collect::<Result<_, _>>()?;
    let aggregates: Vec<_> = letters.iter().map(|letter| DeadLetter::aggregate(letter.dead_letter_id)).collect();
    // What an operator did to the entry, to its dead letters, and, where the event is a job, the job's parts.
    let republished = ("OutboxEntry".to_owned(), event_id.to_string());
    let job = (entry.aggregate_type.clone().unwrap_or_default(), entry.aggregate_id.clone().unwrap_or_default());
    let job = Some(job).filter(|_| entry.event_type.as_deref() == Some(REDRIVE_REQUESTED));
    let asked: Vec<&(String, String)> = aggregates.iter().chain([&republished]).chain(&job).collect();
    let audits = asked.iter().map(|aggregate| events.of_aggregate(ledger, Trail::Own(aggregate), AUDIT, None));
    let (told, (sends, more_sends), audits) = try_join3(
        api.event_notifications.of_event(ledger, &event_id),
        api.sends.of_event(ledger, &event_id, sends::SHOWN),
        try_join_all(audits),
    )
    .await?;
    stages.extend(sends::stages(&sends));
    stages.extend(api.given_up(&sends).await?);
    stages.extend(told.iter().map(|told| of_notification(told, &marks)));
    stages.extend(letters.iter().flat_map(of_dead_letter));
    for (index, audit) in audits.into_iter().enumerate() {
        let letter = letters.get(index);
        stages.extend(audit.rows.into_iter().map(|past| of_audit(past, letter)));
    }
    // Stable: what has the same time stays in the order of cause and effect.
    stages.sort_by_key(|stage| stage.at);
    Ok(Json(Story {
        event_id,
        event_type: entry.event_type,
        aggregate_type: entry.aggregate_type,
        aggregate_id: entry.aggregate_id,
        status: entry.status.as_str(),
        trace_id: entry.trace.map(|trace| trace.trace_id().to_owned()),
        story: stages,
        more_sends,
    }))
}

/// The story of one event.
#[derive(Debug, Serialize, ToSchema)]
pub struct Story {
    #[schema(value_type = String)]
    event_id: EventId,
    event_type: Option<String>,
    aggregate_type: Option<String>,
    aggregate_id: Option<String>,
    /// PENDING, IN_FLIGHT, PUBLISHED or FAILED.
    status: &'static str,
    /// The trace that it belongs to, under which the logs have more.
    trace_id: Option<String>,
    story: Vec<Stage>,
    /// There are more sends than the story shows.
    more_sends: bool,
}

/// Something that happened to the event.
#[derive(Debug, Serialize, ToSchema)]
pub struct Stage {
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// What happened.
    stage: &'static str,
    /// The stage's own fields.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    more: Value,
}

impl Stage {
    fn new(at: Time, stage: &'static str, more: Value) -> Self {
        Self { at, stage, more }
    }
}

impl Api {
    /// The dead letters of sends, and what operators did with them.
    async fn given_up(&self, sends: &[ChannelSend]) -> Result<Vec<Stage>, ApiError> {
        let ids = sends::dead_letters(sends);
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let (ledger, events) = (&self.commands.ledger, &self.commands.events);
        let keys: Vec<Key> = ids.iter().map(|id| self.dead_letters.key(id)).collect();
        let found = ledger.get_all(&keys).await?;
        let letters = ids.iter().map(|id| self.dead_letters.among(&found, id)).filter_map(Result::transpose);
        let letters: Vec<DeadLetter> = letters.collect::<Result<_, _>>()?;
        let aggregates: Vec<_> = letters.iter().map(|letter| DeadLetter::aggregate(letter.dead_letter_id)).collect();
        let audits = aggregates.iter().map(|aggregate| events.of_aggregate(ledger, Trail::Own(aggregate), AUDIT, None));
        let audits = try_join_all(audits).await?;
        let mut stages: Vec<Stage> = letters.iter().flat_map(of_dead_letter).collect();
        for (letter, audit) in letters.iter().zip(audits) {
            stages.extend(audit.rows.into_iter().map(|past| of_audit(past, Some(letter))));
        }
        Ok(stages)
    }
}

fn of_entry(entry: &Entry) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut add = |at: Option<Time>, stage, more| stages.extend(at.map(|at| Stage::new(at, stage, more)));
    add(entry.created_at, "COMMITTED", json!({"by": entry.actor}));
    let attempts = entry.attempt_count;
    let failure = json!({"error": entry.last_error, "attempt_count": attempts, "next_retry_at": entry.next_retry_at});
    let failed = if entry.status == OutboxStatus::Failed { "FAILED" } else { "NOT_PUBLISHED" };
    add(entry.last_error_at, failed, failure);
    let held = json!({"locked_by": entry.locked_by, "lease_until": entry.lease_until});
    add(entry.locked_at, "CLAIMED", held);
    add(entry.published_at, "PUBLISHED", json!({"attempt_count": attempts}));
    stages
}

fn of_mark(mark: &Mark) -> Stage {
    Stage::new(mark.processed_at, "PROCESSED", json!({"consumer": mark.consumer, "queue": mark.source_queue}))
}

/// A notification shows when the event was recorded; it was written when its consumer's last part was.
fn of_notification(told: &EventNotification, marks: &[Mark]) -> Stage {
    let consumer = Queue::Fanout(told.audience).consumer();
    let written = marks.iter().find(|mark| mark.consumer == consumer).map(|mark| mark.processed_at);
    let read_by = told.read_by.as_ref().map(|read_by| &read_by.user_id);
    let handled_by = told.handled_by.as_ref().map(|handled_by| &handled_by.user_id);
    let more = json!({"audience": told.audience, "group": told.group, "read_by": read_by, "handled_by": handled_by});
    Stage::new(written.unwrap_or(told.created_at), "NOTIFIED", more)
}

/// What an operator did, or a job.
fn of_audit(past: Past, letter: Option<&DeadLetter>) -> Stage {
    let (consumer, id) = letter.map(|letter| (&letter.consumer, letter.dead_letter_id)).unzip();
    let handled = json!({"consumer": consumer, "dead_letter_id": id, "by": past.actor});
    match past.event_type.as_str() {
        REDRIVEN => Stage::new(past.occurred_at, "REDRIVEN", handled),
        DISCARDED => Stage::new(past.occurred_at, "DISCARDED", handled),
        REDRIVE_REQUESTED => {
            let part = json!({"part": past.payload["part"], "matched": past.payload["matched"]});
            Stage::new(past.occurred_at, "JOB_PART", part)
        }
        _ => Stage::new(past.occurred_at, "REPUBLISHED", json!({"by": past.actor})),
    }
}

fn of_dead_letter(letter: &DeadLetter) -> Vec<Stage> {
    let stage = |at, reason: &str, receive_count: u32| {
        let (consumer, dead_letter_id) = (&letter.consumer, letter.dead_letter_id);
        let more = json!({"consumer": consumer, "queue": letter.queue, "dead_letter_id": dead_letter_id, "reason": reason, "receive_count": receive_count});
        Stage::new(at, "DEAD_LETTER", more)
    };
    let past = letter.past.iter().map(|past| stage(past.at, &past.reason, past.receive_count));
    past.chain([stage(letter.created_at, &letter.reason, letter.receive_count)]).collect()
}
