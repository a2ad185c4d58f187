//! The table of sends: one item per notification and channel.
//!
//! The key is the event and a partition of it, and the notification and the channel: the sends of an event are found
//! without an index, and a large audience is spread over partitions. The sparse index `due` holds the sends that have not
//! ended, by [`SendDuePartition`] and the time at which a sweeper looks at them. It only finds candidates; the version
//! decides.

use std::collections::HashSet;
use std::time::Duration;

use belfry_aws::commit::Expression;
use belfry_aws::item::{from_item, text};
use belfry_aws::{
    Belfry, Commit, CommitOutcome, Context, Corrupt, Entity, Error, Item, Key, Place, Query, Revision, Stored, Table,
    Timestamp, Write,
};
use domain::EventId;
use domain::recipient::Channel;
pub use domain::send::SendDuePartition;
use domain::send::{ChannelSend, DUE, SendId};
use futures_util::future::try_join_all;
use serde::Deserialize;
use uuid::Uuid;

use crate::partition::Partition;

/// The table.
pub const TABLE: Table = ChannelSend::TABLE;

/// How much later a sweeper looks again at a send that cannot be read.
const UNREADABLE_DELAY: Duration = Duration::from_secs(3_600);

/// Whether the key of a stream record is one of this table.
pub fn is_key(keys: &Item) -> bool {
    keys.contains_key(TABLE.hash.name)
}

/// Reads an item, or an image of the stream.
pub fn parse(item: Item) -> Result<ChannelSend, Corrupt> {
    from_item(TABLE.name, item)
}

/// Adds a send to a commit. From its end on it expires.
pub fn put<T>(commit: Commit<T>, send: &Revision<ChannelSend>, retention: Option<Duration>) -> Commit<T> {
    commit.put_with(send, send.expiry(retention))
}

/// The write that creates a send, unless it exists.
pub fn create_if_absent<T>(commit: Commit<T>, send: &ChannelSend, retention: Option<Duration>) -> Commit<T> {
    commit.create_if_absent_with(send, send.expiry(retention))
}

/// Stores a send. Returns whether the version before it was the stored one.
pub async fn store(belfry: &Belfry, send: &Revision<ChannelSend>, retention: Option<Duration>) -> Result<bool, Error> {
    let ctx = Context::begin();
    let outcome = belfry.commit(&ctx, put(ctx.commit(), send, retention)).await?;
    Ok(matches!(outcome, CommitOutcome::Committed { .. }))
}

/// The sends of these notifications, those of each in the order of the channels.
pub async fn of_notifications<'a>(
    belfry: &Belfry,
    notifications: impl Iterator<Item = (&'a EventId, Uuid)>,
) -> Result<Vec<ChannelSend>, Error> {
    let of_one =
        |(event_id, id): (&'a EventId, Uuid)| Channel::SENT.map(|channel| TABLE.at(SendId::key(event_id, id, channel)));
    let places: Vec<Place> = notifications.flat_map(of_one).collect();
    let found = belfry.get_all(places.iter().cloned(), None).await?;
    let items = places.iter().filter_map(|place| found.0.get(place).cloned());
    Ok(items.map(parse).collect::<Result<_, _>>()?)
}

/// The sends of one event, at most `limit` of each partition, and whether there are more.
pub async fn of_event(belfry: &Belfry, event_id: &EventId, limit: u16) -> Result<(Vec<ChannelSend>, bool), Error> {
    let pages = SendId::partitions(event_id)
        .map(|partition| async move { Partition::of(TABLE, partition).page(belfry, limit, None, parse).await });
    let pages = try_join_all(pages).await?;
    let more = pages.iter().any(|page| page.next.is_some());
    Ok((pages.into_iter().flat_map(|page| page.rows).collect(), more))
}

/// At most `limit` sends that are due by `until`, the longest overdue first. One query per partition.
pub async fn overdue(belfry: &Belfry, until: Timestamp, limit: u16) -> Result<Vec<Stored<ChannelSend>>, Error> {
    let due = due(belfry, &SendDuePartition::SWEPT, Some(until), limit).await?;
    let mut sends = read(belfry, due).await?;
    // The index lags: a send may have ended since, or been claimed or enqueued by another sweeper.
    sends.retain(|send| is_swept(send) && send.due_at <= until);
    Ok(sends)
}

/// At most `limit` sends that are stuck.
pub async fn stuck(belfry: &Belfry, limit: u16) -> Result<Vec<Stored<ChannelSend>>, Error> {
    let due = due(belfry, &[SendDuePartition::Stuck], None, limit).await?;
    let mut sends = read(belfry, due).await?;
    sends.retain(|send| send.is_stuck());
    Ok(sends)
}

/// How many sends of a partition are due by then, counted up to `limit`; without a time, all of them.
pub async fn count_due(
    belfry: &Belfry,
    partition: SendDuePartition,
    until: Option<Timestamp>,
    limit: u16,
) -> Result<usize, Error> {
    Ok(due(belfry, &[partition], until, limit).await?.len())
}

/// Claims an overdue send for a sweeper that is about to enqueue it. `None` if it has changed since it was read. Only one
/// of any number of sweepers claims it.
pub async fn claim_overdue(
    belfry: &Belfry,
    send: &Stored<ChannelSend>,
    retention: Option<Duration>,
) -> Result<Option<Stored<ChannelSend>>, Error> {
    let claimed = send.becomes(send.enqueued_again(belfry.config().stream_grace, belfry.now()));
    Ok(store(belfry, &claimed, retention).await?.then(|| claimed.written()))
}

/// Returns a claimed send that could not be enqueued, so that the next sweep takes it.
pub async fn return_overdue(
    belfry: &Belfry,
    send: &Stored<ChannelSend>,
    retention: Option<Duration>,
) -> Result<(), Error> {
    let returned = send.becomes(send.not_enqueued(belfry.config().stream_grace, belfry.now()));
    store(belfry, &returned, retention).await.map(drop)
}

/// The attributes of a send that every query of the index returns.
#[derive(Deserialize)]
struct DueSend {
    event_part: String,
    send: String,
    due_at: String,
}

impl DueSend {
    fn place(&self) -> Place {
        TABLE.at(Key::pair(&self.event_part, &self.send))
    }
}

async fn due(
    belfry: &Belfry,
    partitions: &[SendDuePartition],
    until: Option<Timestamp>,
    limit: u16,
) -> Result<Vec<DueSend>, Error> {
    // `~` sorts after everything that a time starts with.
    let high = until.map_or_else(|| "~".to_owned(), |until| until.to_string());
    let queries = partitions.iter().flat_map(|partition| partition.all()).map(|partition| {
        let key = Expression::new(
            "#due = :partition AND #due_at BETWEEN :low AND :high",
            [(":partition", text(partition)), (":low", text("0")), (":high", text(&high))],
        );
        let query = Query::index(TABLE, DUE.name, key).limit(limit);
        belfry.query_until(query, |items| items.len() >= limit.into())
    });
    let items = try_join_all(queries).await?.into_iter().flat_map(|page| page.items);
    let due = items.map(|item| from_item(TABLE.name, item)).collect::<Result<_, _>>()?;
    Ok(soonest(due, limit))
}

/// The first of several partitions together. A send that changes its partition between two queries is found by both.
fn soonest(mut due: Vec<DueSend>, limit: u16) -> Vec<DueSend> {
    due.sort_by(|a, b| a.due_at.cmp(&b.due_at));
    let mut seen = HashSet::new();
    due.retain(|due| seen.insert((due.event_part.clone(), due.send.clone())));
    due.truncate(limit.into());
    due
}

/// Reads sends consistently. One that cannot be read must not keep the others from being swept: it is postponed.
async fn read(belfry: &Belfry, due: Vec<DueSend>) -> Result<Vec<Stored<ChannelSend>>, Error> {
    let found = belfry.get_all(due.iter().map(DueSend::place), None).await?;
    let mut sends = Vec::with_capacity(due.len());
    for due in &due {
        match found.0.get(&due.place()).cloned().map(Stored::from_item) {
            None => {}
            Some(Ok(send)) => sends.push(send),
            Some(Err(error)) => {
                tracing::error!(event_part = due.event_part, send = due.send, %error, "send cannot be read; postponed");
                postpone(belfry, due).await?;
            }
        }
    }
    Ok(sends)
}

/// Moves a send that cannot be read from the front of the index, where it would stay forever.
async fn postpone(belfry: &Belfry, due: &DueSend) -> Result<(), Error> {
    let later = text(belfry.now().plus(UNREADABLE_DELAY));
    let set = Expression::new("SET #due_at = :later", [(":later", later)]);
    let unchanged = Expression::new("#due_at = :seen", [(":seen", text(&due.due_at))]);
    belfry.update(&Write::update(due.place(), set).when(unchanged)).await.map(drop)
}

fn is_swept(send: &ChannelSend) -> bool {
    SendDuePartition::of(send).is_some_and(|partition| SendDuePartition::SWEPT.contains(&partition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_found_by_two_queries_is_read_once_and_the_soonest_come_first() {
        let due = |send: &str, due_at: &str| DueSend {
            event_part: "e#0".to_owned(),
            send: send.to_owned(),
            due_at: due_at.to_owned(),
        };
        let found = vec![due("c", "3"), due("a", "2"), due("b", "4"), due("a", "1")];
        let soonest: Vec<String> = soonest(found, 2).into_iter().map(|due| due.send).collect();
        assert_eq!(soonest, ["a", "c"]);
    }
}
