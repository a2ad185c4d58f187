//! `AWS::DynamoDB::Table`: keys, indexes, stream and expiry.

use super::Resource;
use super::error::TemplateError;
use super::typed::{Flag, Text, only, properties};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A table whose key attributes are texts and whose stream, if it has one, shows new images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub logical_id: String,
    pub name: String,
    pub key: KeySchema,
    /// All attributes that are part of a key, of the table or of an index.
    pub attributes: BTreeSet<String>,
    pub global_indexes: Vec<Index>,
    pub local_indexes: Vec<Index>,
    pub has_stream: bool,
    /// The attribute that holds the time of expiry.
    pub ttl: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<KeyElement>")]
pub struct KeySchema {
    pub hash: String,
    pub range: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "IndexProperties")]
pub struct Index {
    pub name: String,
    pub key: KeySchema,
    pub projection: Projection,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ProjectionProperties")]
pub enum Projection {
    All,
    KeysOnly,
    Include(Vec<String>),
}

properties! {
    struct Properties {
        attribute_definitions: Vec<Attribute>,
        global_secondary_indexes: Option<Vec<Index>>,
        key_schema: KeySchema,
        local_secondary_indexes: Option<Vec<Index>>,
        stream_specification: Option<Stream>,
        table_name: Option<Text>,
        time_to_live_specification: Option<TimeToLive>,
    }
    ignored {
        BillingMode ContributorInsightsSpecification DeletionProtectionEnabled KinesisStreamSpecification
        OnDemandThroughput PointInTimeRecoverySpecification ProvisionedThroughput ResourcePolicy
        SSESpecification TableClass Tags WarmThroughput
    }

    struct Attribute { attribute_name: Text, attribute_type: StringType }

    struct KeyElement { attribute_name: Text, key_type: KeyType }

    struct IndexProperties { index_name: Text, key_schema: KeySchema, projection: Projection }
    ignored { ContributorInsightsSpecification OnDemandThroughput ProvisionedThroughput WarmThroughput }

    struct ProjectionProperties { projection_type: Text, non_key_attributes: Option<Vec<Text>> }

    struct Stream { stream_view_type: NewImage }
    ignored { ResourcePolicy }

    struct TimeToLive { attribute_name: Text, enabled: Flag }
}

only! { StringType = "S", NewImage = "NEW_IMAGE" }

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum KeyType {
    Hash,
    Range,
}

impl Table {
    pub(super) fn read(resource: &Resource, stack: &str) -> Result<Self, TemplateError> {
        let properties: Properties = resource.typed()?;
        let attributes = properties.attribute_definitions.into_iter();
        let table = Self {
            logical_id: resource.logical_id.clone(),
            name: resource.name(properties.table_name, stack),
            key: properties.key_schema,
            attributes: attributes.map(|attribute| attribute.attribute_name.0).collect(),
            global_indexes: properties.global_secondary_indexes.unwrap_or_default(),
            local_indexes: properties.local_secondary_indexes.unwrap_or_default(),
            has_stream: properties.stream_specification.is_some(),
            ttl: properties.time_to_live_specification.filter(|ttl| ttl.enabled.0).map(|ttl| ttl.attribute_name.0),
        };
        // DynamoDB refuses a key without a type, and a type without a key.
        let keys = [&table.key].into_iter().chain(table.all_indexes().map(|index| &index.key));
        let keys: BTreeSet<_> = keys.flat_map(KeySchema::attributes).collect();
        let typed: BTreeSet<_> = table.attributes.iter().collect();
        match keys.symmetric_difference(&typed).next() {
            Some(attribute) => {
                let problem = format!("{attribute} must be both in a key schema and in the attribute definitions");
                Err(resource.wrong("AttributeDefinitions", problem))
            }
            None => Ok(table),
        }
    }

    pub fn all_indexes(&self) -> impl Iterator<Item = &Index> {
        self.global_indexes.iter().chain(&self.local_indexes)
    }
}

impl KeySchema {
    pub fn attributes(&self) -> impl Iterator<Item = &String> {
        [&self.hash].into_iter().chain(&self.range)
    }
}

impl TryFrom<Vec<KeyElement>> for KeySchema {
    type Error = &'static str;

    fn try_from(elements: Vec<KeyElement>) -> Result<Self, Self::Error> {
        let mut elements = elements.into_iter().map(|element| (element.key_type, element.attribute_name.0));
        match (elements.next(), elements.next(), elements.next()) {
            (Some((KeyType::Hash, hash)), None, None) => Ok(Self { hash, range: None }),
            (Some((KeyType::Hash, hash)), Some((KeyType::Range, range)), None) => Ok(Self { hash, range: Some(range) }),
            _ => Err("must be a HASH key, and after it a RANGE key or nothing"),
        }
    }
}

impl From<IndexProperties> for Index {
    fn from(index: IndexProperties) -> Self {
        Self { name: index.index_name.0, key: index.key_schema, projection: index.projection }
    }
}

impl TryFrom<ProjectionProperties> for Projection {
    type Error = &'static str;

    fn try_from(projection: ProjectionProperties) -> Result<Self, Self::Error> {
        match (projection.projection_type.0.as_str(), projection.non_key_attributes) {
            ("ALL", None) => Ok(Self::All),
            ("KEYS_ONLY", None) => Ok(Self::KeysOnly),
            ("INCLUDE", Some(included)) => Ok(Self::Include(included.into_iter().map(|name| name.0).collect())),
            _ => Err("must be ALL, KEYS_ONLY, or INCLUDE with NonKeyAttributes"),
        }
    }
}
