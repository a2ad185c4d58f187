//! The table of live connections. The connections of a user are one query, and each connection has a second item under its
//! id alone.
//!
//! The second item is for `$disconnect`, which knows only the id. An index would be cheaper but lags: a connection that
//! closes at once would not be found.

use std::time::Duration;

use belfry_aws::id::compose;
use belfry_aws::item::{from_item, to_item};
use belfry_aws::{Belfry, Context, Corrupt, Error, Key, Place, Table, Timestamp, Unwritable, Write};
use domain::{Audience, UserId};
use serde::{Deserialize, Serialize};

use crate::partition::Partition;
use crate::recipients::recipient_key;

/// The table.
pub const TABLE: Table = Table::new("connections", "recipient").range("connection_id").ttl("expires_at");

/// API Gateway closes every connection after two hours. An older one has missed its `$disconnect`.
const RETENTION: Duration = Duration::from_secs(3 * 3_600);

/// How many connections of one user are read.
const MAX_CONNECTIONS: u16 = 100;

/// An open connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    recipient: String,
    /// The id that API Gateway gave it.
    pub connection_id: String,
    /// When it was opened.
    pub connected_at: Timestamp,
    expires_at: i64,
}

/// The item that finds the owner of a connection.
#[derive(Serialize, Deserialize)]
struct ConnectionOwner {
    recipient: String,
    connection_id: String,
    owner: String,
    expires_at: i64,
}

/// The place of a user's connection.
pub fn place(user_type: Audience, user_id: &UserId, connection_id: &str) -> Place {
    TABLE.at(Key::pair(recipient_key(user_type, user_id), connection_id))
}

/// No audience has this name, and composed keys do not collide, so it is nobody's partition.
fn owner_partition(connection_id: &str) -> String {
    compose(&["connection", connection_id])
}

/// The writes that store a new connection.
pub fn open(
    user_type: Audience,
    user_id: &UserId,
    connection_id: &str,
    now: Timestamp,
) -> Result<[Write; 2], Unwritable> {
    let (recipient, expires_at) = (recipient_key(user_type, user_id), now.plus(RETENTION).as_seconds());
    let connection_id = connection_id.to_owned();
    let owner = ConnectionOwner {
        recipient: owner_partition(&connection_id),
        connection_id: connection_id.clone(),
        owner: recipient.clone(),
        expires_at,
    };
    let owner_place = TABLE.at(Key::pair(&owner.recipient, &connection_id));
    let connection = Connection { recipient, connection_id, connected_at: now, expires_at };
    let place = place(user_type, user_id, &connection.connection_id);
    Ok([Write::create(place, to_item(&connection)?), Write::create(owner_place, to_item(&owner)?)])
}

/// The connections of a user. One round trip.
pub async fn of_user(
    belfry: &Belfry,
    user_type: Audience,
    user_id: &UserId,
    now: Timestamp,
) -> Result<Vec<Connection>, Error> {
    let partition = Partition::of(TABLE, recipient_key(user_type, user_id));
    let parse = |item| -> Result<Connection, Corrupt> { from_item(TABLE.name, item) };
    let mut connections = partition.page(belfry, MAX_CONNECTIONS, None, parse).await?.rows;
    connections.retain(|connection| connection.expires_at > now.as_seconds());
    Ok(connections)
}

/// Deletes a connection, if it exists. One round trip, four write units.
pub async fn delete(belfry: &Belfry, connection: &Connection) -> Result<(), Error> {
    delete_both(belfry, &connection.recipient, &connection.connection_id).await
}

/// Deletes the connection with this id, if it exists. Two round trips, four write units.
pub async fn delete_by_id(belfry: &Belfry, connection_id: &str) -> Result<(), Error> {
    let place = TABLE.at(Key::pair(owner_partition(connection_id), connection_id));
    let Some(item) = belfry.get_item(&place).await? else { return Ok(()) };
    let owner: ConnectionOwner = from_item(TABLE.name, item)?;
    delete_both(belfry, &owner.owner, connection_id).await
}

async fn delete_both(belfry: &Belfry, recipient: &str, connection_id: &str) -> Result<(), Error> {
    let owner = owner_partition(connection_id);
    let places = [recipient, &owner].map(|hash| TABLE.at(Key::pair(hash, connection_id)));
    let ctx = Context::begin();
    let commit = ctx.commit().each(places, |commit, place| commit.write(Write::delete(place)));
    // Without a condition it cannot lose a race.
    belfry.commit(&ctx, commit).await.map(drop)
}
