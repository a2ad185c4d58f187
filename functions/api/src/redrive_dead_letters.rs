//! `POST /v1/dead-letters/redrive`: redrives a chosen list of dead letters, or all open ones that match, as a job.
//!
//! The job is an event, committed with the stored answer in one transaction; the function behind the queue of redrives
//! works it off part by part. A dry run counts and changes nothing.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use belfry_http::JsonBody;
use domain::dead_letter::{DeadLetterFilter, DeadLetterStatus, RedriveJob, Selection};
use domain::{Fresh, Time, Trace};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Found, Key, LedgerError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::{Allowed, Operate};
use crate::http::ledger::Keyed;
use crate::{Api, Shared};

/// The most ids in one call.
const MOST: usize = 1_000;

/// Redrives many dead letters.
#[utoipa::path(
    post,
    path = "/v1/dead-letters/redrive",
    security(("jwt" = ["operate"])),
    request_body = RedriveMany,
    params(("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, description = "a dry run", body = Matched),
        (status = 202, description = "a job: GET /v1/events/{job_id} shows it", body = RedriveAccepted),
        (status = 400, body = ErrorBody),
    )
)]
pub async fn redrive_dead_letters(
    State(api): Shared,
    _: Allowed<Operate>,
    keyed: Keyed,
    body: JsonBody<RedriveMany>,
) -> Result<Response, ApiError> {
    let request = keyed.with_body(&body.json)?;
    let selection = body.parsed.selection(Time::now())?;
    let matched = api.matched(&selection).await?;
    if body.parsed.dry_run {
        return Ok(Json(Matched { matched }).into_response());
    }
    let command = Request { selection, matched, by: &keyed.caller.identity.subject, trace: &keyed.trace };
    api.execute("redrive many", &request, &command).await
}

/// Which dead letters.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RedriveMany {
    /// These.
    ids: Option<Vec<Uuid>>,
    /// Or all open ones that match: queue, event_type, reason, since, until.
    #[schema(value_type = Option<Object>)]
    filter: Option<DeadLetterFilter>,
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
}

impl RedriveMany {
    /// What is meant. A filter is bounded at `now`, so that what fails again meanwhile is not redriven by the same job.
    fn selection(&self, now: Time) -> Result<Selection, ApiError> {
        match (&self.ids, &self.filter) {
            (Some(ids), None) if (1..=MOST).contains(&ids.len()) => {
                let mut ids = ids.clone();
                ids.sort();
                ids.dedup();
                Ok(Selection::Ids(ids))
            }
            (Some(_), None) => Err(ApiError::field("ids", format!("must be 1 to {MOST} ids"))),
            (None, Some(filter)) if filter.status.is_some_and(|status| status != DeadLetterStatus::Open) => {
                Err(ApiError::field("filter.status", "only what is OPEN can be redriven"))
            }
            (None, Some(filter)) => {
                let until = filter.until.map_or(now, |until| until.min(now));
                let status = Some(DeadLetterStatus::Open);
                Ok(Selection::Filter(DeadLetterFilter { until: Some(until), status, ..filter.clone() }))
            }
            _ => Err(ApiError::field("body", "must have either ids or filter")),
        }
    }
}

/// How many dead letters there are to redrive.
#[derive(Debug, Serialize, ToSchema)]
pub struct Matched {
    matched: u64,
}

/// A job that redrives them.
#[derive(Debug, Serialize, ToSchema)]
pub struct RedriveAccepted {
    job_id: Uuid,
    matched: u64,
}

impl Api {
    async fn matched(&self, selection: &Selection) -> Result<u64, ApiError> {
        let ledger = &self.commands.ledger;
        match selection {
            Selection::Filter(filter) => Ok(self.dead_letters.count(ledger, filter).await?),
            Selection::Ids(ids) => {
                let keys: Vec<Key> = ids.iter().map(|id| self.dead_letters.key(id)).collect();
                let found = ledger.get_all(&keys).await?;
                let mut matched = 0;
                for id in ids {
                    let letter = self.dead_letters.among(&found, id)?;
                    matched += u64::from(letter.is_some_and(|letter| letter.status == DeadLetterStatus::Open));
                }
                Ok(matched)
            }
        }
    }
}

struct Request<'a> {
    selection: Selection,
    matched: u64,
    by: &'a str,
    trace: &'a Trace,
}

impl Command for Request<'_> {
    type Known = ();

    fn begin(&self) -> Begin {
        Begin::AssumeAbsent
    }

    fn reads(&self) -> Vec<Key> {
        Vec::new()
    }

    fn known(&self, _: &Found) -> Result<(), Corrupt> {
        Ok(())
    }

    fn decide(&self, (): &(), fresh: &Fresh) -> Result<Decision, LedgerError> {
        // The job goes by the id of the event that asks for it, so that its story can be looked up.
        let (job_id, matched) = (fresh.event_id, self.matched);
        let job = RedriveJob { job_id, selection: self.selection.clone(), matched, cursor: None, part: 1 };
        Ok(Decision::Commit {
            writes: Vec::new(),
            events: vec![job.requested(fresh, Some(self.by.to_owned()), Some(self.trace.clone()))?],
            answer: Answer::json(202, &RedriveAccepted { job_id, matched })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selection(body: serde_json::Value) -> Result<Selection, ApiError> {
        let now = Time::parse("2026-01-01T00:00:00Z").expect("a time");
        serde_json::from_value::<RedriveMany>(body).expect("a body").selection(now)
    }

    #[test]
    fn a_filter_is_bounded_at_now_and_means_open_ones() {
        let Ok(Selection::Filter(filter)) = selection(json!({"filter": {"until": "2027-01-01T00:00:00Z"}})) else {
            panic!("a filter");
        };
        assert_eq!(filter.until.map(|until| until.to_string()).as_deref(), Some("2026-01-01T00:00:00.000Z"));
        assert_eq!(filter.status, Some(DeadLetterStatus::Open));
    }

    #[test]
    fn either_ids_or_a_filter_and_not_both_or_none() {
        let id = Uuid::nil();
        for body in [
            json!({}),
            json!({"ids": [id], "filter": {}}),
            json!({"ids": []}),
            json!({"filter": {"status": "DISCARDED"}}),
        ] {
            assert!(selection(body.clone()).is_err(), "{body}");
        }
        assert_eq!(selection(json!({"ids": [id, id]})).expect("ids"), Selection::Ids(vec![id]));
    }
}
