//! Tells those of a group who listen right now that a notification was read or handled, right after the commit.
//!
//! Up to four round trips: the event notification as it stands, the group's members, and their rows, records and
//! watermarks; then one query and one call for each socket. Best effort, and never for longer than two seconds: what a
//! socket misses, the inbox has. Who does not want to hear live of this event type is not told.

use std::time::Duration;

use domain::live::{Message, News};
use domain::notification::{EventNotification, NotificationView, Reading, notification_id};
use domain::recipient::Channel;
use domain::routing::Group;
use domain::{Audience, UserId};
use ledger::{Key, LedgerError};

use crate::Api;
use crate::addressed::Addressed;

/// How many of a group are told at most: the one who reads or acts waits for it.
const MOST: u16 = 100;

/// And how long for.
const WITHIN: Duration = Duration::from_secs(2);

impl Api {
    /// Tells the group, or the reader alone where nobody shares the reading.
    pub async fn tell_listeners(&self, addressed: &Addressed<'_>, news: News) {
        let told = async {
            match self.messages(addressed, news).await {
                Ok(messages) => {
                    self.sockets.push_all(messages).await;
                }
                Err(error) => tracing::warn!(reason = %error, "nobody is told live"),
            }
        };
        if tokio::time::timeout(WITHIN, told).await.is_err() {
            tracing::warn!("telling those who listen took too long");
        }
    }

    async fn messages(
        &self,
        addressed: &Addressed<'_>,
        news: News,
    ) -> Result<Vec<(Audience, UserId, Message)>, LedgerError> {
        let ledger = &self.commands.ledger;
        let Some(told) = addressed.told().await? else { return Ok(Vec::new()) };
        // Who comes second has read for themselves alone.
        let first = told.read_by.as_ref().is_some_and(|first| first.user_id == addressed.user_id);
        let shared = news == News::Handled || told.shared_read && first;
        let users = match Group::named(&told.group).filter(|_| shared) {
            Some(group @ (Group::Restaurant(_) | Group::Agency(_) | Group::All)) => {
                let members = self.recipients.members(ledger, &group, MOST, None).await?;
                if members.next.is_some() {
                    tracing::warn!(most = MOST, "the group is too large: not all of it is told live");
                }
                members.rows
            }
            Some(Group::User(_)) | None => vec![addressed.user_id.clone()],
        };
        let keys: Vec<[Key; 3]> = users.iter().map(|user_id| self.keys_of(&told, user_id)).collect();
        let found = ledger.get_all(&keys.concat()).await?;
        let mut messages = Vec::with_capacity(users.len());
        for (user_id, [row, _, _]) in users.into_iter().zip(&keys) {
            // Whoever has joined since was not told of it.
            let Some(row) = self.notifications.among(&found, row)? else { continue };
            let record = self.recipients.among(&found, told.audience, &user_id)?;
            let details = record.as_ref().map(|record| &record.details);
            if details.is_some_and(|details| !details.wants(&told.event_type, Channel::Websocket)) {
                continue;
            }
            let read_until = self.inboxes.among(&found, told.audience, &user_id)?;
            let reading = Reading::of(record.as_ref(), read_until);
            let notification = NotificationView::new(row, told.clone(), &reading);
            messages.push((told.audience, user_id, Message { news, notification }));
        }
        Ok(messages)
    }

    /// A user's row, record and watermark.
    fn keys_of(&self, told: &EventNotification, user_id: &UserId) -> [Key; 3] {
        let id = notification_id(&told.event_id, told.created_at, told.audience, user_id);
        [
            self.notifications.key(told.audience, user_id, id),
            self.recipients.key(told.audience, user_id),
            self.inboxes.key(told.audience, user_id),
        ]
    }
}
