//! Table of live sockets: the sockets of one user are one query, and each has an item of its own by its id alone.
//!
//! The second item is for `$disconnect`, which knows nothing but the id. An index would do it for less, but lags: a socket
//! that closes at once would not be found in it.

use std::time::Duration;

use domain::id::compose;
use domain::{Audience, Time, UserId};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::commit::Write;
use crate::error::LedgerError;
use crate::item::{Key, from_item, to_item};
use crate::read::Query;
use crate::recipients::recipient_key;

/// API Gateway closes every socket after two hours; what is older has missed its `$disconnect`.
const KEPT: Duration = Duration::from_secs(3 * 3_600);
/// More sockets than this nobody looks at.
const MOST: u16 = 100;

/// The table.
#[derive(Debug, Clone)]
pub struct Connections {
    table: String,
}

/// One open socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    recipient: String,
    /// API Gateway's id of the socket.
    pub connection_id: String,
    /// When it was opened.
    pub connected_at: Time,
    expires_at: i64,
}

/// Whose socket it is.
#[derive(Serialize, Deserialize)]
struct Owned {
    recipient: String,
    connection_id: String,
    owner: String,
    expires_at: i64,
}

impl Connections {
    /// The table of this name.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }

    fn key(&self, recipient: &str, connection_id: &str) -> Key {
        Key::new(&self.table, "recipient", recipient).and("connection_id", connection_id)
    }

    /// No audience is called so, and no composed key begins like another: it meets no user's.
    fn owner_key(&self, connection_id: &str) -> Key {
        self.key(&compose(&["connection", connection_id]), connection_id)
    }

    /// The socket's place among those of its user.
    pub fn key_of(&self, user_type: Audience, user_id: &UserId, connection_id: &str) -> Key {
        self.key(&recipient_key(user_type, user_id), connection_id)
    }

    /// Stores a new socket, in a transaction.
    pub fn open(
        &self,
        user_type: Audience,
        user_id: &UserId,
        connection_id: &str,
        now: Time,
    ) -> Result<[Write; 2], LedgerError> {
        let (recipient, expires_at) = (recipient_key(user_type, user_id), now.plus(KEPT).as_seconds());
        let owner_key = self.owner_key(connection_id);
        let owned = Owned {
            recipient: owner_key.hash.1.clone(),
            connection_id: connection_id.to_owned(),
            owner: recipient.clone(),
            expires_at,
        };
        let key = self.key(&recipient, connection_id);
        let connection =
            Connection { recipient, connection_id: connection_id.to_owned(), connected_at: now, expires_at };
        Ok([Write::create(key, to_item(&connection)?)?, Write::create(owner_key, to_item(&owned)?)?])
    }

    /// The sockets of a user. One round trip.
    pub async fn of_user(
        &self,
        ledger: &Ledger,
        user_type: Audience,
        user_id: &UserId,
        now: Time,
    ) -> Result<Vec<Connection>, LedgerError> {
        let partition = Key::new(&self.table, "recipient", recipient_key(user_type, user_id));
        let query = Query { partition, sort: "connection_id", after: None, descending: false, limit: MOST };
        let rows = ledger.query(&query).await?.rows.into_iter();
        let mut connections = rows.map(|item| from_item(&self.table, item)).collect::<Result<Vec<Connection>, _>>()?;
        connections.retain(|connection| connection.expires_at > now.as_seconds());
        Ok(connections)
    }

    /// Forgets a socket; nothing happens if it is forgotten already. One round trip, four write units.
    pub async fn forget(&self, ledger: &Ledger, connection: &Connection) -> Result<(), LedgerError> {
        self.forget_of(ledger, &connection.recipient, &connection.connection_id).await
    }

    /// The same for who knows the id alone. Two round trips.
    pub async fn forget_by_id(&self, ledger: &Ledger, connection_id: &str) -> Result<(), LedgerError> {
        let Some(item) = ledger.get(&self.owner_key(connection_id)).await? else { return Ok(()) };
        let owned: Owned = from_item(&self.table, item)?;
        self.forget_of(ledger, &owned.owner, connection_id).await
    }

    async fn forget_of(&self, ledger: &Ledger, recipient: &str, connection_id: &str) -> Result<(), LedgerError> {
        let keys = [self.key(recipient, connection_id), self.owner_key(connection_id)];
        let deletes = keys.map(|key| Write::delete(key, None));
        let deletes = deletes.into_iter().collect::<Result<Vec<_>, _>>()?;
        // Without a condition, nobody can be first.
        ledger.commit(&deletes).await.map(drop)
    }
}
