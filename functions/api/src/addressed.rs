//! One notification of the caller's own: what `read_notification` and `act` know of it, and how its reading is written.
//!
//! The caller's row names the event notification, and neither of the two ever points elsewhere; so the row is read once
//! before the command, which can then read both, and the caller's record, in one batch with its key.

use domain::notification::{EventNotification, Notification, NotificationView, ReadBy, Reading};
use domain::recipient::Recipient;
use domain::{Audience, Fresh, UserId};
use ledger::{Corrupt, Found, Key, LedgerError, Write};
use uuid::Uuid;

use crate::Api;
use crate::http::error::{ApiError, Code};
use crate::http::identity::Caller;

/// A notification that the caller names, if it is theirs.
#[derive(Debug)]
pub struct Addressed<'a> {
    api: &'a Api,
    caller: &'a Caller,
    audience: Audience,
    /// Whose inbox it is.
    pub user_id: UserId,
    /// Where the row and what it shows are; nowhere, if there is no such row.
    places: Option<(Key, Key)>,
}

/// How a notification stands.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The caller's own row.
    pub row: Notification,
    /// What it shows, and what the group shares.
    pub told: EventNotification,
    /// What is known of the caller.
    pub record: Option<Recipient>,
}

impl Api {
    /// The notification of this id in the caller's own inbox. One round trip.
    pub async fn addressed<'a>(&'a self, caller: &'a Caller, id: &str) -> Result<Addressed<'a>, ApiError> {
        let (audience, user_id) = caller.as_user()?;
        let key = self.notifications.key(audience, &user_id, Uuid::parse_str(id).map_err(|_| unknown())?);
        let row = self.notifications.get(&self.commands.ledger, &key).await?;
        let place = |row: Notification| self.event_notifications.key(&row.event_id, row.audience, &row.group);
        let places = row.map(|row| (key, place(row)));
        Ok(Addressed { api: self, caller, audience, user_id, places })
    }
}

/// The answer for what is not there, or not in this caller's inbox.
pub fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "no such notification")
}

impl Addressed<'_> {
    /// What it shows, as it stands now. One round trip.
    pub async fn told(&self) -> Result<Option<EventNotification>, LedgerError> {
        let Some((_, place)) = &self.places else { return Ok(None) };
        let told = self.api.event_notifications.get_all(&self.api.commands.ledger, std::slice::from_ref(place)).await?;
        Ok(told.into_iter().next().flatten())
    }

    /// The items that say how it stands.
    pub fn reads(&self) -> Vec<Key> {
        let record = self.api.recipients.key(self.audience, &self.user_id);
        self.places.iter().flat_map(|(row, told)| [row.clone(), told.clone(), record.clone()]).collect()
    }

    /// Makes sense of those items.
    pub fn standing(&self, found: &Found) -> Result<Option<Standing>, Corrupt> {
        let Some((row, told)) = &self.places else { return Ok(None) };
        let record = self.api.recipients.among(found, self.audience, &self.user_id)?;
        let row = self.api.notifications.among(found, row)?;
        let told = self.api.event_notifications.among(found, told)?;
        Ok(row.zip(told).map(|(row, told)| Standing { row, told, record }))
    }

    /// How others see the caller: by the name of their record, else of their token, else by their id.
    pub fn name(&self, standing: &Standing) -> String {
        let known = standing.record.as_ref().map(|record| &record.details.name);
        let name = known.or(self.caller.name.as_ref());
        name.map_or(self.user_id.as_str(), |name| name.as_str()).to_owned()
    }

    /// The same after the caller has read it. Whoever has left the group reads for themselves alone.
    pub fn read(&self, standing: &Standing, fresh: &Fresh) -> Standing {
        let reader = ReadBy { user_id: self.user_id.clone(), name: self.name(standing), at: fresh.now };
        let told = if standing.told.is_of_group(&self.user_id, standing.record.as_ref()) {
            standing.told.read(reader)
        } else {
            standing.told.clone()
        };
        Standing { row: standing.row.read(fresh.now), told, record: standing.record.clone() }
    }

    /// Writes what has changed between the two.
    pub fn writes(&self, before: &Standing, after: &Standing) -> Result<Vec<Write>, LedgerError> {
        let mut writes = Vec::new();
        if let (None, Some(at)) = (before.row.read_at, after.row.read_at) {
            writes.push(self.api.notifications.read(&before.row, at)?);
        }
        writes.extend(self.api.event_notifications.share(&before.told, &after.told)?);
        if before.told.read_by.is_none() && after.told.read_by.is_some() {
            writes.push(self.api.group_reads.put(&after.told, after.row.read_at.unwrap_or(after.told.created_at))?);
        }
        Ok(writes)
    }
}

impl Standing {
    /// The notification as in the inbox of whoever has just read it.
    pub fn into_view(self) -> NotificationView {
        let reading = Reading::of(self.record.as_ref(), None);
        NotificationView::new(self.row, self.told, &reading)
    }
}
