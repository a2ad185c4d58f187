//! The schema that every database starts from: dynoxide's own, plus what its streams lack.
//!
//! dynoxide numbers a stream record by asking for the highest number so far, and reads a stream by number, both on an
//! expression that its schema has no index for: every write to a table with a stream costs more than the one
//! before. And it never removes a record. Both can be put right from outside, because the schema is SQLite's: two
//! indexes and a trigger. A database in memory cannot be reached by a second connection, so they are added to a
//! template, once per process, and each new database is a copy of it. (A database that has a name, like the template,
//! could be reached, but SQLite ends it at 1 GiB.)
//!
//! The schema is private to dynoxide, which is why its version is pinned; the tests below fail if it moves.

use std::sync::LazyLock;

use dynoxide::Database;
use rusqlite::Connection;

use crate::error::{EngineError, TemplateError};

/// In memory as well, but under a name that several connections of this process can open.
const NAME: &str = "file:/belfry-engine-template?vfs=memdb";

/// The trigger looks at the 2,048 oldest records on every 1,024th new one: so it keeps up, and what it costs does not
/// grow with the stream. Records are numbered in the order of their time, hence the oldest are the lowest.
/// 86,400 seconds are the 24 hours that AWS keeps a record.
const ADDITIONS: &str = "
    CREATE INDEX belfry_last_number
        ON _stream_records (table_name, CAST(sequence_number AS INTEGER));
    CREATE INDEX belfry_read_from
        ON _stream_records (table_name, shard_id, CAST(sequence_number AS INTEGER));
    CREATE TRIGGER belfry_trim AFTER INSERT ON _stream_records WHEN NEW.id % 1024 = 0 BEGIN
        DELETE FROM _stream_records
        WHERE id IN (SELECT id FROM _stream_records ORDER BY id LIMIT 2048)
          AND created_at < NEW.created_at - 86400;
    END;
";

/// Kept for as long as the process lives: a named database is gone when its last connection is.
static TEMPLATE: LazyLock<Result<Database, TemplateError>> = LazyLock::new(|| {
    let template = Database::new(NAME)?;
    Connection::open(NAME)?.execute_batch(ADDITIONS)?;
    Ok(template)
});

/// A new database without tables.
pub(super) fn database() -> Result<Database, EngineError> {
    if let Err(error) = &*TEMPLATE {
        return Err(EngineError::Template(error));
    }
    let database = Database::memory().map_err(EngineError::Database)?;
    database.restore_from(NAME).map_err(EngineError::Database)?;
    Ok(database)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// What a new database really holds, in a file that can be looked into.
    fn opened() -> (TempDir, Connection) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("copy.db");
        database().unwrap().vacuum_into(path.to_str().unwrap()).unwrap();
        let connection = Connection::open(path).unwrap();
        (folder, connection)
    }

    fn plan(connection: &Connection, query: &str) -> String {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let steps = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    fn insert(connection: &Connection, count: u32, created_at: i64) {
        let inserted = connection.execute(
            "INSERT INTO _stream_records
                 (table_name, event_name, keys_json, sequence_number, shard_id, created_at)
             WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
             SELECT 't', 'INSERT', '{}', n, 's', ?2 FROM numbers",
            (count, created_at),
        );
        assert_eq!(inserted.unwrap(), count as usize);
    }

    fn records(connection: &Connection) -> u32 {
        connection.query_row("SELECT COUNT(*) FROM _stream_records", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn the_next_number_is_found_by_its_index() {
        let (_folder, connection) = opened();
        // Word for word what dynoxide asks before it writes a record.
        let plan = plan(
            &connection,
            "SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records \
             WHERE table_name = 't'",
        );
        assert!(plan.contains("belfry_last_number (table_name=?)"), "{plan}");
    }

    #[test]
    fn a_stream_is_read_from_a_number_by_its_index() {
        let (_folder, connection) = opened();
        // Word for word what dynoxide asks for GetRecords.
        let plan = plan(
            &connection,
            "SELECT event_name, keys_json, new_image, old_image, sequence_number, created_at, \
                    user_identity, event_id
             FROM _stream_records
             WHERE table_name = 't' AND shard_id = 's' AND CAST(sequence_number AS INTEGER) > 7
             ORDER BY CAST(sequence_number AS INTEGER) ASC
             LIMIT 100",
        );
        assert!(plan.contains("belfry_read_from (table_name=? AND shard_id=? AND <expr>>?)"), "{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "sorted: {plan}");
    }

    #[test]
    fn records_older_than_a_day_are_trimmed_and_younger_ones_stay() {
        let (_folder, connection) = opened();
        let now = 1_800_000_000;
        insert(&connection, 1_500, now - 86_401);
        insert(&connection, 500, now - 86_399);
        assert_eq!(records(&connection), 2_000, "nothing is a day old yet");
        insert(&connection, 48, now);
        assert_eq!(records(&connection), 548);
    }

    #[test]
    fn two_databases_share_nothing() {
        let (first, second) = (database().unwrap(), database().unwrap());
        let table = serde_json::json!({
            "TableName": "only-in-one",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        first.create_table(serde_json::from_value(table).unwrap()).unwrap();
        assert_eq!(first.table_count().unwrap(), 1);
        assert_eq!(second.table_count().unwrap(), 0);
    }
}
