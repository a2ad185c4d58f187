//! `POST /v1/inbox/read-all`: everything that the caller has been told counts as read by them.
//!
//! One round trip, two items: a watermark under the condition that it moves forward, and the key; no row is rewritten, so
//! it costs the same for ten notifications and for ten thousand. A notification counts as read when its recipient was
//! told at or before the watermark, whenever its event happened: what is fanned out late is not born read. (Each attempt
//! to store a row takes its own time, so that only a call that is under way in that very moment may count among it.)
//!
//! It is the caller's own: what a group shares is not marked read for the others, who have not seen that anybody looked
//! at it. And it is no event.

use axum::extract::State;
use axum::response::Response;
use belfry_http::NoBody;
use domain::{Audience, Fresh, Time, UserId};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Found, Inboxes, Key, LedgerError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Shared;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::ledger::Keyed;

/// Marks everything in the caller's own inbox read, for the caller alone.
#[utoipa::path(
    post,
    path = "/v1/inbox/read-all",
    params(("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, body = AllRead),
        (status = 409, description = "the key was used for another request", body = ErrorBody),
    )
)]
pub async fn read_all(State(api): Shared, keyed: Keyed, body: NoBody) -> Result<Response, ApiError> {
    let request = keyed.with_body(&body.json)?;
    let (audience, user_id) = keyed.caller.as_user()?;
    api.execute("read_all", &request, &ReadAll { audience, user_id, inboxes: &api.inboxes }).await
}

/// Up to when everything is read.
#[derive(Debug, Serialize, ToSchema)]
pub struct AllRead {
    #[schema(value_type = String, format = DateTime)]
    read_until: Time,
}

struct ReadAll<'a> {
    audience: Audience,
    user_id: UserId,
    inboxes: &'a Inboxes,
}

impl Command for ReadAll<'_> {
    type Known = Option<Time>;

    fn begin(&self) -> Begin {
        // The write's condition asks all that there is to know.
        Begin::AssumeAbsent
    }

    fn reads(&self) -> Vec<Key> {
        vec![self.inboxes.key(self.audience, &self.user_id)]
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        self.inboxes.among(found, self.audience, &self.user_id)
    }

    fn decide(&self, known: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        // Two clocks differ: a watermark that lies ahead stays.
        let ahead = known.filter(|standing| *standing >= fresh.now);
        let writes = match ahead {
            Some(_) => Vec::new(),
            None => vec![self.inboxes.read_all(self.audience, &self.user_id, fresh.now)?],
        };
        let answer = Answer::json(200, &AllRead { read_until: ahead.unwrap_or(fresh.now) })?;
        Ok(Decision::Commit { writes, events: Vec::new(), answer })
    }
}
