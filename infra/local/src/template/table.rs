//! `AWS::DynamoDB::Table`: keys, indexes, stream and expiry.

use super::Resource;
use super::error::TemplateError;
use super::typed::{Flag, Text, properties};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The name within the template.
    pub logical_id: String,
    /// The name of the table itself.
    pub name: String,
    /// Its primary key.
    pub key: KeySchema,
    /// The types of all attributes that are part of a key, of the table's or of an index's.
    pub attributes: BTreeMap<String, AttributeType>,
    /// The global secondary indexes.
    pub indexes: Vec<Index>,
    /// The local ones, which share the partition key.
    pub local_indexes: Vec<Index>,
    /// What its stream shows, if it has one.
    pub stream: Option<StreamView>,
    /// The attribute that holds the time of expiry, if items expire.
    pub ttl: Option<String>,
}

/// The attributes that form a key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<KeyElement>")]
pub struct KeySchema {
    /// The partition key.
    pub hash: String,
    /// The sort key.
    pub range: Option<String>,
}

/// The type of a key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum AttributeType {
    /// `S`.
    #[serde(rename = "S")]
    Text,
    /// `N`.
    #[serde(rename = "N")]
    Number,
    /// `B`.
    #[serde(rename = "B")]
    Binary,
}

/// A secondary index.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "IndexProperties")]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: KeySchema,
    /// What it copies from the table.
    pub projection: Projection,
}

/// What an index copies from its table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ProjectionProperties")]
pub enum Projection {
    /// Every attribute.
    All,
    /// The keys of the table and of the index.
    KeysOnly,
    /// The keys and these.
    Include(Vec<String>),
}

/// What a stream record shows of the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StreamView {
    /// `KEYS_ONLY`.
    KeysOnly,
    /// `NEW_IMAGE`.
    NewImage,
    /// `OLD_IMAGE`.
    OldImage,
    /// `NEW_AND_OLD_IMAGES`.
    NewAndOldImages,
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

    struct Attribute { attribute_name: Text, attribute_type: AttributeType }

    struct KeyElement { attribute_name: Text, key_type: KeyType }

    struct IndexProperties { index_name: Text, key_schema: KeySchema, projection: Projection }
    ignored { ContributorInsightsSpecification OnDemandThroughput ProvisionedThroughput WarmThroughput }

    struct ProjectionProperties { projection_type: Text, non_key_attributes: Option<Vec<Text>> }

    struct Stream { stream_view_type: StreamView }
    ignored { ResourcePolicy }

    struct TimeToLive { attribute_name: Text, enabled: Flag }
}

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
            attributes: attributes.map(|attribute| (attribute.attribute_name.0, attribute.attribute_type)).collect(),
            indexes: properties.global_secondary_indexes.unwrap_or_default(),
            local_indexes: properties.local_secondary_indexes.unwrap_or_default(),
            stream: properties.stream_specification.map(|stream| stream.stream_view_type),
            ttl: properties.time_to_live_specification.filter(|ttl| ttl.enabled.0).map(|ttl| ttl.attribute_name.0),
        };
        // DynamoDB refuses a key without a type, and a type without a key.
        let keys = [&table.key].into_iter().chain(table.all_indexes().map(|index| &index.key));
        let keys: BTreeSet<_> = keys.flat_map(KeySchema::attributes).collect();
        let typed: BTreeSet<_> = table.attributes.keys().collect();
        match keys.symmetric_difference(&typed).next() {
            Some(attribute) => {
                let problem = format!("{attribute} must be both in a key schema and in the attribute definitions");
                Err(resource.wrong("AttributeDefinitions", problem))
            }
            None => Ok(table),
        }
    }

    /// The global secondary indexes, then the local ones.
    pub fn all_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().chain(&self.local_indexes)
    }
}

impl KeySchema {
    /// The attributes of the key, the partition key first.
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
