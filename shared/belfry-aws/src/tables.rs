//! The kernel's tables, and the physical names of all tables.

use std::collections::BTreeMap;

use belfry_core::item::{Index, KeyAttribute};
use belfry_core::{BadSetting, DeadLetter, Entity, Settings, Table};

use crate::Error;

/// The responses of commands, by idempotency key.
pub const IDEMPOTENCY_KEYS: Table = Table::new("idempotency-keys", "caller_key").ttl("expires_at");

/// The events: outbox and audit trail in one table.
pub const EVENTS: Table =
    Table::new("events", "event_id").ttl("expires_at").stream().indexes(&[UNPUBLISHED, BY_AGGREGATE]);

/// Finds events that are not PUBLISHED. Sparse.
pub const UNPUBLISHED: Index =
    Index { name: "unpublished", hash: KeyAttribute::text("unpublished"), range: Some(KeyAttribute::text("due_at")) };

/// Lists the events of an aggregate.
pub const BY_AGGREGATE: Index =
    Index { name: "by_aggregate", hash: KeyAttribute::text("aggregate"), range: Some(KeyAttribute::text("sequence")) };

/// The processed marks of consumers.
pub const PROCESSED: Table = Table::new("processed", "consumer_event").ttl("expires_at");

/// The messages that consumers gave up on.
pub const DEAD_LETTERS: Table = DeadLetter::TABLE;

/// The tables that a function with commands needs.
pub const OF_COMMANDS: [Table; 2] = [IDEMPOTENCY_KEYS, EVENTS];

/// The tables that a consumer needs.
pub const OF_CONSUMERS: [Table; 2] = [PROCESSED, DEAD_LETTERS];

/// All tables of the kernel.
pub const ALL: [Table; 4] = [IDEMPOTENCY_KEYS, EVENTS, PROCESSED, DEAD_LETTERS];

/// The physical names of tables: a prefix, or a name for each.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    prefix: Option<String>,
    names: BTreeMap<String, String>,
}

impl Tables {
    /// Names that start with this prefix, such as `library-` for `library-events`.
    pub fn prefixed(prefix: impl Into<String>) -> Self {
        Self { prefix: Some(prefix.into()), names: BTreeMap::new() }
    }

    /// Gives one table a name of its own.
    #[must_use]
    pub fn with(mut self, table: Table, name: impl Into<String>) -> Self {
        self.names.insert(table.name.to_owned(), name.into());
        self
    }

    /// Reads `BELFRY_TABLE_PREFIX`, and `BELFRY_…_TABLE` for single tables: `BELFRY_IDEMPOTENCY_KEYS_TABLE` names the table
    /// `idempotency-keys`.
    pub fn read(settings: &Settings) -> Self {
        let names = settings.between("BELFRY_", "_TABLE");
        Self {
            prefix: settings.optional("BELFRY_TABLE_PREFIX"),
            names: names.map(|(name, value)| (logical(name), value.to_owned())).collect(),
        }
    }

    /// Reports each of these tables that has no name.
    pub fn require(&self, settings: &mut Settings, tables: impl IntoIterator<Item = Table>) {
        for table in tables {
            if self.get(table).is_none() {
                settings.mistake(BadSetting::new(format!("{} is not set", variable(table))));
            }
        }
    }

    /// The physical name of a table.
    pub fn name(&self, table: Table) -> Result<String, Error> {
        let unset = || Error::Refused { reason: format!("{} is not set", variable(table)) };
        self.get(table).ok_or_else(unset)
    }

    fn get(&self, table: Table) -> Option<String> {
        let prefixed = || self.prefix.as_ref().map(|prefix| format!("{prefix}{}", table.name));
        self.names.get(table.name).cloned().or_else(prefixed)
    }
}

fn variable(table: Table) -> String {
    format!("BELFRY_{}_TABLE", table.name.to_uppercase().replace('-', "_"))
}

/// `IDEMPOTENCY_KEYS` of a variable's name is `idempotency-keys`.
pub(crate) fn logical(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// Creates the tables that do not exist yet, for tests and local runs.
#[cfg(feature = "testing")]
pub async fn create(
    client: &aws_sdk_dynamodb::Client,
    tables: &Tables,
    all: impl IntoIterator<Item = Table>,
) -> Result<(), Error> {
    use aws_sdk_dynamodb::types::{
        AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
        ScalarAttributeType, StreamSpecification, StreamViewType,
    };
    use belfry_core::item::KeyType as Kind;

    fn built<T>(result: Result<T, aws_sdk_dynamodb::error::BuildError>) -> Result<T, Error> {
        result.map_err(|error| Error::Refused { reason: error.to_string() })
    }
    let schema = |hash: KeyAttribute, range: Option<KeyAttribute>| {
        [(hash, KeyType::Hash)]
            .into_iter()
            .chain(range.map(|range| (range, KeyType::Range)))
            .map(|(attribute, kind)| {
                built(KeySchemaElement::builder().attribute_name(attribute.name).key_type(kind).build())
            })
            .collect::<Result<Vec<_>, Error>>()
    };
    for table in all {
        let keys = [(table.hash, table.range)].into_iter();
        let keys = keys.chain(table.indexes.iter().map(|index| (index.hash, index.range)));
        let attributes: BTreeMap<&str, Kind> = keys
            .flat_map(|(hash, range)| [Some(hash), range])
            .flatten()
            .map(|attribute| (attribute.name, attribute.kind))
            .collect();
        let attributes = attributes.into_iter().map(|(name, kind)| {
            let kind = match kind {
                Kind::S => ScalarAttributeType::S,
                Kind::N => ScalarAttributeType::N,
                Kind::B => ScalarAttributeType::B,
            };
            built(AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build())
        });
        let indexes = table.indexes.iter().map(|index| {
            built(
                GlobalSecondaryIndex::builder()
                    .index_name(index.name)
                    .set_key_schema(Some(schema(index.hash, index.range)?))
                    .projection(Projection::builder().projection_type(ProjectionType::All).build())
                    .build(),
            )
        });
        let indexes = indexes.collect::<Result<Vec<_>, Error>>()?;
        let stream = StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::NewImage);
        let request = client
            .create_table()
            .table_name(tables.name(table)?)
            .billing_mode(BillingMode::PayPerRequest)
            .set_key_schema(Some(schema(table.hash, table.range)?))
            .set_attribute_definitions(Some(attributes.collect::<Result<_, Error>>()?))
            .set_global_secondary_indexes((!indexes.is_empty()).then_some(indexes))
            .set_stream_specification(if table.stream { Some(built(stream.build())?) } else { None });
        match request.send().await {
            Ok(_) => {}
            Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_in_use_exception()) => {}
            Err(error) => return Err(Error::Refused { reason: crate::error::causes(&error) }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_from_its_own_variable_or_from_the_prefix() {
        let variables = [("BELFRY_TABLE_PREFIX", "library-"), ("BELFRY_IDEMPOTENCY_KEYS_TABLE", "keys")];
        let mut settings: Settings =
            variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
        let tables = Tables::read(&settings);
        assert_eq!(tables.name(EVENTS).as_deref(), Ok("library-events"));
        assert_eq!(tables.name(IDEMPOTENCY_KEYS).as_deref(), Ok("keys"));
        tables.require(&mut settings, ALL);
        assert_eq!(settings.finish(), Ok(()));
    }

    #[test]
    fn every_table_without_a_name_is_reported() {
        let mut settings = Settings::default();
        Tables::default().require(&mut settings, [EVENTS, PROCESSED]);
        let mistakes = settings.finish().expect_err("missing").to_string();
        assert_eq!(mistakes, "BELFRY_EVENTS_TABLE is not set; BELFRY_PROCESSED_TABLE is not set");
        assert!(Tables::default().name(EVENTS).is_err());
    }
}
