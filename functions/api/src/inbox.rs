//! `GET /v1/inbox` and `GET /debug/notification/inbox/{user_id}`: what a recipient was told, newest first.
//!
//! Three round trips one after the other, all of them consistent: a batch get of the reader (for their language) and of
//! what they have marked read; a query for the rows; a batch get of the event notifications, whose texts and shared state
//! are laid over each row. Beside the last two, the count: a query for what is unread, and one for what each group has
//! read (`unread_count`). A filter that leaves a page short of rows repeats the query and its batch get. For operators, a batch
//! get of the sends.

use axum::Json;
use axum::extract::State;
use belfry_http::{InPath, InQuery, Paging, cursor};
use domain::notification::{Notification, NotificationView, Reading};
use domain::recipient::Channel;
use domain::send::{ChannelSend, SendState};
use domain::{Audience, Time, UserId};
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::error::{ApiError, ErrorBody};
use crate::http::identity::{Allowed, Caller, Operate};
use crate::{Api, Shared};

/// How many pages of the table one request reads at most.
const MOST_PAGES: u32 = 10;

/// The caller's own inbox.
#[utoipa::path(
    get,
    path = "/v1/inbox",
    params(
        ("unread" = Option<bool>, Query, description = "only what is unread, or only what is read"),
        ("limit" = Option<u16>, Query, description = "1 to 100, 50 by default"),
        ("cursor" = Option<String>, Query, description = "next_cursor of the page before"),
    ),
    responses((status = 200, body = Inbox), (status = 400, body = ErrorBody))
)]
pub async fn inbox(
    State(api): Shared,
    caller: Caller,
    InQuery(wanted): InQuery<Wanted>,
    paging: Paging,
) -> Result<Json<Inbox>, ApiError> {
    let (audience, user_id) = caller.as_user()?;
    let unread = wanted.unread()?;
    Ok(Json(api.inbox((audience, &user_id), unread, &paging, Sends::Hidden).await?))
}

/// Anybody's inbox, with the sends; for operators.
#[utoipa::path(
    get,
    path = "/debug/notification/inbox/{user_id}",
    security(("jwt" = ["operate"])),
    params(
        ("user_id" = String, Path),
        ("user_type" = String, Query),
        ("unread" = Option<bool>, Query),
        ("limit" = Option<u16>, Query),
        ("cursor" = Option<String>, Query),
    ),
    responses((status = 200, body = Inbox), (status = 403, body = ErrorBody))
)]
pub async fn debug_inbox(
    State(api): Shared,
    _: Allowed<Operate>,
    InPath(user_id): InPath<String>,
    InQuery(wanted): InQuery<Wanted>,
    paging: Paging,
) -> Result<Json<Inbox>, ApiError> {
    let user_id = UserId::parse(user_id).map_err(|error| ApiError::field("user_id", error))?;
    let user_type = wanted.user_type.as_deref().unwrap_or_default();
    let audience = user_type.parse().map_err(|error| ApiError::field("user_type", error))?;
    let unread = wanted.unread()?;
    Ok(Json(api.inbox((audience, &user_id), unread, &paging, Sends::Shown).await?))
}

/// The query's own parameters.
#[derive(Debug, Deserialize)]
pub struct Wanted {
    unread: Option<String>,
    user_type: Option<String>,
}

impl Wanted {
    fn unread(&self) -> Result<Option<bool>, ApiError> {
        let parse = |text: &str| text.parse().map_err(|_| ApiError::field("unread", "must be true or false"));
        self.unread.as_deref().map(parse).transpose()
    }
}

/// A page of an inbox.
#[derive(Debug, Serialize, ToSchema)]
pub struct Inbox {
    notifications: Vec<InInbox>,
    unread_count: u64,
    next_cursor: Option<String>,
}

/// One notification as its recipient sees it, for operators with what became of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct InInbox {
    #[serde(flatten)]
    shown: NotificationView,
    /// How each channel fared; for operators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    sends: Option<Vec<SendView>>,
}

/// Whether the sends are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sends {
    /// To operators.
    Shown,
    /// From everybody else.
    Hidden,
}

/// How one channel fared.
#[derive(Debug, Serialize, ToSchema)]
pub struct SendView {
    #[schema(value_type = String)]
    channel: Channel,
    /// PENDING, PROCESSING, SENT, FAILED, SKIPPED or UNCERTAIN.
    status: &'static str,
    attempt_count: u32,
    /// The last failure, or why it was skipped.
    last_error: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    sent_at: Option<Time>,
}

impl From<&ChannelSend> for SendView {
    fn from(send: &ChannelSend) -> Self {
        let sent_at = match send.state {
            SendState::Sent { sent_at } => Some(sent_at),
            _ => None,
        };
        Self {
            channel: send.id.channel,
            status: send.state.as_str(),
            attempt_count: send.attempt_count,
            last_error: send.last_error.clone(),
            sent_at,
        }
    }
}

impl Api {
    async fn inbox(
        &self,
        reader: (Audience, &UserId),
        unread: Option<bool>,
        paging: &Paging,
        sends: Sends,
    ) -> Result<Inbox, ApiError> {
        let (audience, user_id) = reader;
        let keys = [self.recipients.key(audience, user_id), self.inboxes.key(audience, user_id)];
        let found = self.commands.ledger.get_all(&keys).await?;
        let record = self.recipients.among(&found, audience, user_id)?;
        let read_until = self.inboxes.among(&found, audience, user_id)?;
        let reading = Reading::of(record.as_ref(), read_until);
        let page = self.page(reader, (unread, sends), paging, &reading);
        let ((notifications, next), unread_count) = try_join(page, self.unread_count(reader, read_until)).await?;
        Ok(Inbox { notifications, unread_count, next_cursor: next.as_deref().map(cursor) })
    }

    /// One page, and the place of its last row if there may be more behind it.
    async fn page(
        &self,
        reader: (Audience, &UserId),
        (unread, sends): (Option<bool>, Sends),
        paging: &Paging,
        reading: &Reading,
    ) -> Result<(Vec<InInbox>, Option<String>), ApiError> {
        let limit = usize::from(paging.limit);
        let mut shown = Vec::new();
        let mut after = paging.after.clone();
        // A filter can leave a page short of rows, so go on until it is full or the inbox ends; but not for ever: a short
        // page with a cursor is an answer too.
        let mut pages = 0;
        let next = loop {
            pages += 1;
            let page =
                self.notifications.of_recipient(&self.commands.ledger, reader, paging.limit, after.as_deref()).await?;
            for view in self.views(page.rows, reading, sends).await? {
                if unread.is_none_or(|unread| unread != view.shown.is_read) {
                    shown.push(view);
                }
            }
            match page.next {
                _ if shown.len() > limit => {
                    shown.truncate(limit);
                    break shown.last().map(|view| view.shown.notification_id.to_string());
                }
                Some(next) if shown.len() < limit && pages < MOST_PAGES => after = Some(next),
                next => break next,
            }
        };
        Ok((shown, next))
    }

    async fn views(&self, rows: Vec<Notification>, reading: &Reading, sends: Sends) -> Result<Vec<InInbox>, ApiError> {
        let key = |row: &Notification| self.event_notifications.key(&row.event_id, row.audience, &row.group);
        let keys: Vec<_> = rows.iter().map(key).collect();
        let told = self.event_notifications.get_all(&self.commands.ledger, &keys).await?;
        let places = rows.iter().map(|row| (&row.event_id, row.notification_id));
        let sends = match sends {
            Sends::Hidden => None,
            Sends::Shown => Some(self.sends.of_notifications(&self.commands.ledger, places).await?),
        };
        let sends_of = |row: &Notification| {
            let of_row = |send: &&ChannelSend| send.id.notification_id == row.notification_id;
            sends.as_ref().map(|sends| sends.iter().filter(of_row).map(SendView::from).collect())
        };
        let view = |row: Notification, told| InInbox {
            sends: sends_of(&row),
            shown: NotificationView::new(row, told, reading),
        };
        // A row whose event notification has passed its retention has nothing left to show.
        Ok(rows.into_iter().zip(told).filter_map(|(row, told)| Some(view(row, told?))).collect())
    }
}
