//! `POST /v1/notifications/{id}/read`: the caller has read it, and where reading is shared, so has their group.
//!
//! Three round trips: the row, which says what it shows; both with the caller's record and the key; the transaction. It
//! writes the row's `read_at`, the key and, for the first reader of a shared one, `read_by` under the condition that
//! nobody is there, and the group's read: eight write units at most. Whoever comes second changes nothing of that, and
//! reading what is read already writes the key alone. It is no event: nobody but the group needs to know, and those of
//! them who listen are told right after the commit (`news`).

use axum::extract::State;
use axum::response::Response;
use belfry_http::{InPath, NoBody};
use domain::Fresh;
use domain::live::News;
use domain::notification::NotificationView;
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Found, Key, LedgerError};

use crate::Shared;
use crate::addressed::{Addressed, Standing, unknown};
use crate::http::error::{ApiError, ErrorBody};
use crate::http::ledger::Keyed;

/// Marks one of the caller's own notifications read.
#[utoipa::path(
    post,
    path = "/v1/notifications/{id}/read",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    responses(
        (status = 200, description = "read, now or before", body = NotificationView),
        (status = 404, description = "not in the caller's inbox", body = ErrorBody),
        (status = 409, description = "the key was used for another request", body = ErrorBody),
    )
)]
pub async fn read_notification(
    State(api): Shared,
    InPath(id): InPath<String>,
    keyed: Keyed,
    body: NoBody,
) -> Result<Response, ApiError> {
    let request = keyed.with_body(&body.json)?;
    let command = ReadNotification(api.addressed(&keyed.caller, &id).await?);
    let news = api.tell_listeners(&command.0, News::Read);
    api.execute_then("read_notification", &request, &command, news).await
}

struct ReadNotification<'a>(Addressed<'a>);

impl Command for ReadNotification<'_> {
    type Known = Option<Standing>;

    fn begin(&self) -> Begin {
        Begin::Read
    }

    fn reads(&self) -> Vec<Key> {
        self.0.reads()
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        self.0.standing(found)
    }

    fn decide(&self, known: &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        let Some(before) = known else { return Ok(Decision::Decline(unknown().into_answer()?)) };
        let after = self.0.read(before, fresh);
        Ok(Decision::Commit {
            writes: self.0.writes(before, &after)?,
            events: Vec::new(),
            answer: Answer::json(200, &after.into_view())?,
        })
    }
}
