//! The template database that every new database is copied from: dynoxide's schema, plus what its streams lack.
//!
//! dynoxide numbers a stream record by querying the highest number, and reads a stream by number, both on an expression
//! without an index, so every write to a table with a stream is slower than the one before. It also never trims a
//! stream. Two indexes and a trigger in its SQLite schema correct both. A second connection cannot reach a database in
//! memory, so they are added to a named template, once for each process, and copied from there. (A named database could
//! be reached, but SQLite limits it to 1 GiB.)
//!
//! The schema is private to dynoxide. Its version is therefore pinned, and the tests below fail if the schema changes.

use std::sync::LazyLock;

use dynoxide::Database;
use rusqlite::Connection;

use crate::error::{EngineError, TemplateError};

/// In memory too, but named, so that several connections of this process can open it.
const NAME: &str = "file:/belfry-engine-template?vfs=memdb";

/// The trigger checks the 2,048 oldest records at every 1,024th new one, so it keeps up and its cost does not grow with
/// the stream. Ids follow time, so the lowest are the oldest. 86,400 seconds are the 24 hours that AWS keeps a record.
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

/// Kept for the life of the process: a named database ends with its last connection.
static TEMPLATE: LazyLock<Result<Database, TemplateError>> = LazyLock::new(|| {
    let template = Database::new(NAME)?;
    Connection::open(NAME)?.execute_batch(ADDITIONS)?;
    Ok(template)
});

/// Creates a database without tables.
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

    /// The content of a new database, in a file that SQLite can open.
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
    fn next_sequence_number_uses_the_index() {
        let (_folder, connection) = opened();
        // The query dynoxide runs before it writes a record, verbatim.
        let plan = plan(
            &connection,
            "SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records \
             WHERE table_name = 't'",
        );
        assert!(plan.contains("belfry_last_number (table_name=?)"), "{plan}");
    }

    #[test]
    fn reading_a_stream_uses_the_index() {
        let (_folder, connection) = opened();
        // The query dynoxide runs for GetRecords, verbatim.
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
    fn records_older_than_a_day_are_trimmed() {
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
