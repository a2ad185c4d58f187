//! The tables of recipients and members: who can be notified, and who belongs to which group.
//!
//! A recipient is one item. Membership of a restaurant, an agency or the admins is another, written in the same
//! transaction. The members of a group are a consistent query in the order of their ids. All admins are spread over
//! partitions, so that no single one takes all reads and writes of a large audience.
//!
//! A recipient has a `revision` instead of a version: a record that is deleted and created again must not reach a revision
//! that somebody has read before.

use std::ops::Deref;

use belfry_aws::commit::Expression;
use belfry_aws::id::compose;
use belfry_aws::item::{from_item, number, spread, text_of, to_item, to_value};
use belfry_aws::{
    Belfry, Command, Commit, Context, Corrupt, Error, Found, GetItem, GetRow, Item, Keep, Key, Page, Place, Refusal,
    Table, Timestamp, Unwritable, Write,
};
use domain::recipient::{Preference, Recipient};
use domain::routing::Group;
use domain::{Audience, UserId};
use serde::Deserialize;

use crate::partition::Partition;

/// The table of recipients.
pub const TABLE: Table = Table::new("recipients", "recipient");

/// The table of members.
pub const MEMBERS: Table = Table::new("members", "member_of").range("user_id");

/// How many partitions all admins are spread over.
const ADMIN_PARTITIONS: u32 = 16;

const REVISION: &str = "revision";

/// A recipient as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecipient {
    recipient: Recipient,
    revision: u64,
}

impl Deref for StoredRecipient {
    type Target = Recipient;

    fn deref(&self) -> &Recipient {
        &self.recipient
    }
}

/// The text that identifies a recipient in keys.
pub(crate) fn recipient_key(audience: Audience, user_id: &UserId) -> String {
    compose(&[audience.as_str(), user_id.as_str()])
}

/// The place of a recipient.
pub fn place(audience: Audience, user_id: &UserId) -> Place {
    TABLE.at(recipient_key(audience, user_id))
}

/// Reads a recipient's record for a decision.
pub type RecipientRecord = GetRow<Recipient>;

/// Reads the record of this recipient for a decision.
pub fn by_id(audience: Audience, user_id: &UserId) -> RecipientRecord {
    place(audience, user_id).read_as()
}

/// Reads an item.
pub fn parse(item: Item) -> Result<StoredRecipient, Corrupt> {
    let revision = text_of(&item, REVISION).and_then(|revision| revision.parse().ok()).unwrap_or_default();
    Ok(StoredRecipient { recipient: from_item(TABLE.name, item)?, revision })
}

/// Reads a recipient consistently.
pub async fn get(belfry: &Belfry, audience: Audience, user_id: &UserId) -> Result<Option<StoredRecipient>, Error> {
    Ok(belfry.get_item(&place(audience, user_id)).await?.map(parse).transpose()?)
}

/// Reads recipients consistently, in this order. One round trip per 100.
pub async fn get_all(
    belfry: &Belfry,
    audience: Audience,
    user_ids: &[UserId],
) -> Result<Vec<Option<StoredRecipient>>, Error> {
    let reads = user_ids.iter().map(|user_id| place(audience, user_id).read()).collect::<Vec<GetItem>>();
    let items = belfry.read(reads).await?;
    Ok(items.into_iter().map(|item| item.map(parse).transpose()).collect::<Result<_, _>>()?)
}

/// Stores a recipient, and makes them a member of the group that the record names. Suppressed addresses that the new record
/// still has stay suppressed.
pub async fn put(belfry: &Belfry, recipient: &Recipient) -> Result<(), Error> {
    let after = |before: Option<&Recipient>| {
        RecipientChange::Replace(Box::new(match before {
            Some(before) => recipient.clone().keeping_suppressions(before),
            None => recipient.clone(),
        }))
    };
    change(belfry, recipient.user_type, &recipient.user_id, after).await.map(drop)
}

/// Changes a recipient, whatever others change at the same time. Returns whether there was anything to change.
pub async fn amend(
    belfry: &Belfry,
    audience: Audience,
    user_id: &UserId,
    amended: impl Fn(&Recipient) -> Option<Recipient> + Sync,
) -> Result<bool, Error> {
    let after = |before: Option<&Recipient>| before.and_then(&amended).into();
    change(belfry, audience, user_id, after).await
}

/// Deletes a recipient. Returns whether there was one.
pub async fn delete(belfry: &Belfry, audience: Audience, user_id: &UserId) -> Result<bool, Error> {
    let after = |before: Option<&Recipient>| before.map_or(RecipientChange::None, |_| RecipientChange::Delete);
    change(belfry, audience, user_id, after).await
}

/// Replaces the preferences alone, and leaves the rest of the record to concurrent changes. Returns the recipient after it,
/// if there is one. One round trip.
pub async fn put_preferences(
    belfry: &Belfry,
    audience: Audience,
    user_id: &UserId,
    preferences: &[Preference],
) -> Result<Option<StoredRecipient>, Error> {
    // A concurrent put that has read the record must find that it has changed.
    let set = format!("SET #preferences = :preferences, #{REVISION} = #{REVISION} + :one");
    let set = Expression::new(set, [(":preferences", to_value(&preferences)?), (":one", number(1))]);
    let exists = Expression::new("attribute_exists(#recipient)", []);
    let item = belfry.update(&Write::update(place(audience, user_id), set).when(exists)).await?;
    Ok(item.map(parse).transpose()?)
}

/// The writes that replace the recipient that was read, to be committed with the cause of the change. They lose to any
/// change made since.
pub fn replace(before: &StoredRecipient, after: &Recipient, now: Timestamp) -> Result<Vec<Write>, Unwritable> {
    replacing(Some(before), after, now)
}

fn replacing(before: Option<&StoredRecipient>, after: &Recipient, now: Timestamp) -> Result<Vec<Write>, Unwritable> {
    let place = place(after.user_type, &after.user_id);
    let revision = before.map_or_else(|| first_revision(now), |before| before.revision + 1);
    let mut item = to_item(after)?;
    item.extend(place.attributes());
    item.insert(REVISION.to_owned(), number(revision));
    let mut writes = vec![match before {
        None => Write::create(place, item),
        Some(before) => Write::put(place, item).when(has_revision(before)),
    }];
    let (was, is) = (before.and_then(|before| member_place(before)), member_place(after));
    writes.extend(was.filter(|was| Some(was) != is.as_ref()).map(Write::delete));
    writes.extend(is.map(|is| {
        let item = is.attributes();
        Write::put(is, item)
    }));
    Ok(writes)
}

fn deleting(before: &StoredRecipient) -> Vec<Write> {
    let recipient = Write::delete(place(before.user_type, &before.user_id)).when(has_revision(before));
    std::iter::once(recipient).chain(member_place(before).map(Write::delete)).collect()
}

fn has_revision(before: &StoredRecipient) -> Expression {
    Expression::new(format!("#{REVISION} = :before"), [(":before", number(before.revision))])
}

/// Higher than any revision of an earlier record, unless that was changed more than a thousand times a second.
fn first_revision(now: Timestamp) -> u64 {
    u64::try_from(now.as_millis()).unwrap_or(1)
}

/// What becomes of a recipient.
enum RecipientChange {
    None,
    Replace(Box<Recipient>),
    Delete,
}

impl From<Option<Recipient>> for RecipientChange {
    fn from(after: Option<Recipient>) -> Self {
        after.map_or(Self::None, |recipient| Self::Replace(Box::new(recipient)))
    }
}

/// Changes a recipient by a function of what is stored. Its output is whether anything changed.
struct ChangeRecipient<F> {
    place: Place,
    after: F,
}

/// Why a recipient cannot be changed.
#[derive(Debug, thiserror::Error)]
enum CannotChange {
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
}

impl Refusal for CannotChange {
    fn keep(&self) -> Keep {
        Keep::DoNotStore
    }
}

impl<F: Fn(Option<&Recipient>) -> RecipientChange + Sync> Command for ChangeRecipient<F> {
    const NAME: &'static str = "change recipient";
    type Reads = GetItem;
    type Output = bool;
    type Refusal = CannotChange;

    fn reads(&self) -> GetItem {
        self.place.clone().read()
    }

    fn decide(&self, found: Found<Self>, ctx: &Context) -> Result<Commit<bool>, CannotChange> {
        let before = found.map(parse).transpose()?;
        let writes = match ((self.after)(before.as_deref()), &before) {
            (RecipientChange::Replace(after), before) => replacing(before.as_ref(), &after, ctx.now())?,
            (RecipientChange::Delete, Some(before)) => deleting(before),
            (RecipientChange::Delete, None) | (RecipientChange::None, _) => Vec::new(),
        };
        let changes = !writes.is_empty();
        Ok(ctx.commit().each(writes, Commit::write).output(changes))
    }
}

async fn change<F>(belfry: &Belfry, audience: Audience, user_id: &UserId, after: F) -> Result<bool, Error>
where
    F: Fn(Option<&Recipient>) -> RecipientChange + Sync,
{
    let command = ChangeRecipient { place: place(audience, user_id), after };
    belfry.run(&Context::begin(), &command).await?.map_err(|problem| match problem {
        CannotChange::Corrupt(corrupt) => corrupt.into(),
        CannotChange::Unwritable(unwritable) => unwritable.into(),
    })
}

#[derive(Deserialize)]
struct MemberRow {
    user_id: UserId,
}

/// One page of the members of a group. A position is the number of a partition and a user id.
pub async fn members(belfry: &Belfry, group: &Group, limit: u16, after: Option<&str>) -> Result<Page<UserId>, Error> {
    let (first, mut user) = match after.and_then(|after| after.split_once('#')) {
        Some((partition, user)) => (partition.parse::<usize>().unwrap_or(0), Some(user)),
        None => (0, None),
    };
    let parse = |item| from_item::<MemberRow>(MEMBERS.name, item).map(|row| row.user_id);
    let mut rows: Vec<UserId> = Vec::new();
    for (index, partition) in member_partitions(group).into_iter().enumerate().skip(first) {
        let room = limit.saturating_sub(u16::try_from(rows.len()).unwrap_or(limit));
        // Only the partition in which the last page ended starts in the middle.
        let page = Partition::of(MEMBERS, partition).page(belfry, room, user.take(), parse).await?;
        rows.extend(page.rows);
        if rows.len() >= limit.into() {
            let next = rows.last().map(|last| format!("{index}#{last}"));
            return Ok(Page { rows, next });
        }
    }
    Ok(Page { rows, next: None })
}

/// The item that makes a recipient a member of their group.
fn member_place(recipient: &Recipient) -> Option<Place> {
    let partitions = member_partitions(&recipient.group()?);
    let over = u32::try_from(partitions.len()).ok().filter(|over| *over > 0)?;
    let partition = partitions.get(usize::try_from(spread(recipient.user_id.as_str(), over)).ok()?)?;
    Some(MEMBERS.at(Key::pair(partition, &recipient.user_id)))
}

/// The partitions that hold a group's members.
fn member_partitions(group: &Group) -> Vec<String> {
    match group {
        Group::User(_) => Vec::new(),
        Group::Restaurant(id) => vec![compose(&["RESTAURANT", id.as_str()])],
        Group::Agency(id) => vec![compose(&["AGENCY", id.as_str()])],
        Group::All => (0..ADMIN_PARTITIONS).map(|partition| compose(&["ADMIN", &partition.to_string()])).collect(),
    }
}
