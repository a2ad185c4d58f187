//! `GET /v1/inbox` and `GET /debug/notification/inbox/{user_id}`: what a recipient was told, newest first.
//!
//! One read of the reader for their language, one consistent query for the rows, one batch get for the texts and the
//! state that groups share, one count.

use axum::Json;
use axum::extract::State;
use domain::notification::{FALLBACK_LOCALE, Notification, NotificationView};
use domain::{Audience, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::asked::{InPath, InQuery};
use crate::caller::{Allowed, Caller, Operate};
use crate::error::{ApiError, ErrorBody};
use crate::page::{Paging, cursor};
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
    #[schema(value_type = Option<Vec<Object>>)]
    sends: Option<Vec<Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sends {
    Shown,
    Hidden,
}

impl Api {
    async fn inbox(
        &self,
        reader: (Audience, &UserId),
        unread: Option<bool>,
        paging: &Paging,
        sends: Sends,
    ) -> Result<Inbox, ApiError> {
        let limit = usize::from(paging.limit);
        let (audience, user_id) = reader;
        let recipient = self.recipients.get(&self.commands.ledger, audience, user_id).await?;
        let locale = recipient.and_then(|recipient| recipient.details.locale);
        let locale = locale.as_ref().map_or(FALLBACK_LOCALE, |locale| locale.as_str());
        let mut shown = Vec::new();
        let mut after = paging.after.clone();
        // A filter can leave a page short of rows, so go on until it is full or the inbox ends; but not for ever: a short
        // page with a cursor is an answer too.
        let mut pages = 0;
        let next = loop {
            pages += 1;
            let page =
                self.notifications.of_recipient(&self.commands.ledger, reader, paging.limit, after.as_deref()).await?;
            for view in self.views(page.rows, locale, sends).await? {
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
        let unread_count = self.notifications.unread_count(&self.commands.ledger, reader).await?;
        Ok(Inbox { notifications: shown, unread_count, next_cursor: next.as_deref().map(cursor) })
    }

    async fn views(&self, rows: Vec<Notification>, locale: &str, sends: Sends) -> Result<Vec<InInbox>, ApiError> {
        let key = |row: &Notification| self.event_notifications.key(&row.event_id, row.audience, &row.group);
        let keys: Vec<_> = rows.iter().map(key).collect();
        let told = self.event_notifications.get_all(&self.commands.ledger, &keys).await?;
        let view = |row, told| InInbox {
            shown: NotificationView::new(row, told, locale),
            sends: (sends == Sends::Shown).then(Vec::new),
        };
        // A row whose event notification has passed its retention has nothing left to show.
        Ok(rows.into_iter().zip(told).filter_map(|(row, told)| Some(view(row, told?))).collect())
    }
}
