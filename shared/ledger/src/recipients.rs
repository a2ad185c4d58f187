//! Tables of recipients and of members: who can be told, and who belongs to which group.
//!
//! A recipient is one item; being a member of a restaurant, an agency or the admins is one more, written in the same
//! transaction. Who belongs to a group is a consistent query of the members, in the order of their ids. All admins are
//! spread over partitions, so that no single one takes all reads and writes of a large audience.

use domain::id::compose;
use domain::recipient::{Preference, Recipient};
use domain::routing::Group;
use domain::{Audience, Time, UserId};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::commit::{Change, Outcome, Write};
use crate::error::{Corrupt, LedgerError};
use crate::item::{Item, Key, from_item, number, spread, to_item, to_value};
use crate::read::{Found, Page, Query};

/// How many partitions all admins are spread over.
const SPREAD: u32 = 16;

/// How often to look again when others change the same recipient.
const RACES: u32 = 5;

/// The tables.
#[derive(Debug, Clone)]
pub struct Recipients {
    table: String,
    members: String,
}

#[derive(Serialize, Deserialize)]
struct Row {
    recipient: String,
    #[serde(default)]
    revision: u64,
    #[serde(flatten)]
    details: Recipient,
}

#[derive(Serialize, Deserialize)]
struct MemberRow {
    member_of: String,
    user_id: UserId,
}

/// The text that names a recipient in keys.
pub(crate) fn recipient_key(audience: Audience, user_id: &UserId) -> String {
    compose(&[audience.as_str(), user_id.as_str()])
}

impl Recipients {
    /// The tables of these names.
    pub fn new(table: impl Into<String>, members: impl Into<String>) -> Self {
        Self { table: table.into(), members: members.into() }
    }

    /// A recipient's place.
    pub fn key(&self, audience: Audience, user_id: &UserId) -> Key {
        Key::new(&self.table, "recipient", recipient_key(audience, user_id))
    }

    /// The recipient among the items that were found.
    pub fn among(&self, found: &Found, audience: Audience, user_id: &UserId) -> Result<Option<Recipient>, Corrupt> {
        let item = found.get(&self.key(audience, user_id));
        Ok(item.map(|item| self.parse(item.clone())).transpose()?.map(|row| row.details))
    }

    /// The recipient, as it stands now.
    pub async fn get(
        &self,
        ledger: &Ledger,
        audience: Audience,
        user_id: &UserId,
    ) -> Result<Option<Recipient>, LedgerError> {
        Ok(self.row(ledger, audience, user_id).await?.map(|row| row.details))
    }

    /// Stores the recipient in place of what stands there, and makes them a member of the group that the record names.
    pub async fn put(&self, ledger: &Ledger, recipient: &Recipient) -> Result<(), LedgerError> {
        for _ in 0..RACES {
            let before = self.row(ledger, recipient.user_type, &recipient.user_id).await?;
            let recipient = match &before {
                Some(before) => &recipient.clone().keeping_suppressions(&before.details),
                None => recipient,
            };
            let writes = self.replacing(before.as_ref(), recipient)?;
            if matches!(ledger.commit(&writes).await?, Outcome::Committed) {
                return Ok(());
            }
        }
        Err(LedgerError::Contended { attempts: RACES })
    }

    /// Changes the recipient as it stands, whatever others change at the same time; says whether there was anything to
    /// change.
    pub async fn amend(
        &self,
        ledger: &Ledger,
        (audience, user_id): (Audience, &UserId),
        change: impl Fn(&Recipient) -> Option<Recipient>,
    ) -> Result<bool, LedgerError> {
        for _ in 0..RACES {
            let Some(before) = self.row(ledger, audience, user_id).await? else { return Ok(false) };
            let Some(after) = change(&before.details) else { return Ok(false) };
            let writes = self.replacing(Some(&before), &after)?;
            if matches!(ledger.commit(&writes).await?, Outcome::Committed) {
                return Ok(true);
            }
        }
        Err(LedgerError::Contended { attempts: RACES })
    }

    /// Stores what the recipient wishes to hear and leaves the rest of the record to whoever else is at it; hands it back
    /// as it stands then, if there is one. One round trip.
    pub async fn put_preferences(
        &self,
        ledger: &Ledger,
        audience: Audience,
        user_id: &UserId,
        preferences: &[Preference],
    ) -> Result<Option<Recipient>, LedgerError> {
        let change = Change {
            // A put that has read the record before this must find that it has changed.
            expression: "SET preferences = :preferences, revision = revision + :one".to_owned(),
            condition: "attribute_exists(recipient)".to_owned(),
            values: vec![(":preferences", to_value(&preferences)?), (":one", number(1))],
        };
        let item = ledger.change(&self.key(audience, user_id), &change).await?;
        Ok(item.map(|item| self.parse(item)).transpose()?.map(|row| row.details))
    }

    /// Forgets the recipient; says whether there was one.
    pub async fn delete(&self, ledger: &Ledger, audience: Audience, user_id: &UserId) -> Result<bool, LedgerError> {
        for _ in 0..RACES {
            let Some(row) = self.row(ledger, audience, user_id).await? else { return Ok(false) };
            let condition = ("revision = :before", vec![(":before", number(row.revision))]);
            let mut writes = vec![Write::delete(self.key(audience, user_id), Some(condition))?];
            if let Some(member) = self.member(&row.details) {
                writes.push(Write::delete(member, None)?);
            }
            if matches!(ledger.commit(&writes).await?, Outcome::Committed) {
                return Ok(true);
            }
        }
        Err(LedgerError::Contended { attempts: RACES })
    }

    /// The next members of a group in the order of their places, and the place of the last of them if there may be more.
    pub async fn members(
        &self,
        ledger: &Ledger,
        group: &Group,
        limit: u16,
        after: Option<&str>,
    ) -> Result<Page<UserId>, LedgerError> {
        let partitions = partitions(group);
        let (first, mut user) = match after.and_then(|after| after.split_once('#')) {
            Some((partition, user)) => (partition.parse::<usize>().unwrap_or(0), Some(user.to_owned())),
            None => (0, None),
        };
        let mut rows: Vec<UserId> = Vec::new();
        for (index, partition) in partitions.iter().enumerate().skip(first) {
            let room = limit.saturating_sub(u16::try_from(rows.len()).unwrap_or(limit));
            let partition = Key::new(&self.members, "member_of", partition.as_str());
            // Only the partition that the last page ended in begins in the middle.
            let after = user.take();
            let query = Query { partition, sort: "user_id", after: after.as_deref(), descending: false, limit: room };
            let page = ledger.query(&query).await?;
            for item in page.rows {
                rows.push(from_item::<MemberRow>(&self.members, item)?.user_id);
            }
            if rows.len() >= limit.into() {
                let next = rows.last().map(|last| format!("{index}#{last}"));
                return Ok(Page { rows, next });
            }
        }
        Ok(Page { rows, next: None })
    }

    fn replacing(&self, before: Option<&Row>, recipient: &Recipient) -> Result<Vec<Write>, LedgerError> {
        let key = self.key(recipient.user_type, &recipient.user_id);
        // A record that is deleted and written again must not come by a revision that somebody has read before.
        let revision = before.map_or_else(first_revision, |row| row.revision + 1);
        let row = Row { recipient: key.hash.1.clone(), revision, details: recipient.clone() };
        let item = to_item(&row)?;
        let mut writes = vec![match before {
            None => Write::create(key, item)?,
            Some(before) => Write::put(key, item, "revision = :before", [(":before", number(before.revision))])?,
        }];
        let (was, is) = (before.and_then(|row| self.member(&row.details)), self.member(recipient));
        if let Some(was) = was.filter(|was| Some(was) != is.as_ref()) {
            writes.push(Write::delete(was, None)?);
        }
        if let Some(is) = is {
            let item: Item = is.attributes();
            writes.push(Write::replace(is, item)?);
        }
        Ok(writes)
    }

    /// The item that makes a recipient a member of their group.
    fn member(&self, recipient: &Recipient) -> Option<Key> {
        let partitions = partitions(&recipient.group()?);
        let over = u32::try_from(partitions.len()).ok().filter(|over| *over > 0)?;
        let partition = partitions.get(usize::try_from(spread(recipient.user_id.as_str(), over)).ok()?)?;
        Some(Key::new(&self.members, "member_of", partition.as_str()).and("user_id", recipient.user_id.as_str()))
    }

    async fn row(&self, ledger: &Ledger, audience: Audience, user_id: &UserId) -> Result<Option<Row>, LedgerError> {
        let item = ledger.get(&self.key(audience, user_id)).await?;
        Ok(item.map(|item| self.parse(item)).transpose()?)
    }

    fn parse(&self, item: Item) -> Result<Row, Corrupt> {
        from_item(&self.table, item)
    }
}

/// Higher than any of a record before it, unless that was changed more than a thousand times a second.
fn first_revision() -> u64 {
    u64::try_from(Time::now().as_millis()).unwrap_or(1)
}

/// The partitions that hold a group's members.
fn partitions(group: &Group) -> Vec<String> {
    match group {
        Group::User(_) => Vec::new(),
        Group::Restaurant(id) => vec![compose(&["RESTAURANT", id.as_str()])],
        Group::Agency(id) => vec![compose(&["AGENCY", id.as_str()])],
        Group::All => (0..SPREAD).map(|spread| compose(&["ADMIN", &spread.to_string()])).collect(),
    }
}
