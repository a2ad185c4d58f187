//! `AWS::DynamoDB::Table`: keys, indexes, stream and expiry.

use super::error::{Problem, TemplateError};
use super::node::Node;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySchema {
    /// The partition key.
    pub hash: String,
    /// The sort key.
    pub range: Option<String>,
}

/// The type of a key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeType {
    /// `S`.
    Text,
    /// `N`.
    Number,
    /// `B`.
    Binary,
}

/// A secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: KeySchema,
    /// What it copies from the table.
    pub projection: Projection,
}

/// What an index copies from its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// Every attribute.
    All,
    /// The keys of the table and of the index.
    KeysOnly,
    /// The keys and these.
    Include(Vec<String>),
}

/// What a stream record shows of the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

const READ: [&str; 7] = [
    "AttributeDefinitions",
    "GlobalSecondaryIndexes",
    "KeySchema",
    "LocalSecondaryIndexes",
    "StreamSpecification",
    "TableName",
    "TimeToLiveSpecification",
];
/// Billing, backup and access have no meaning on one machine.
const SKIPPED: [&str; 12] = [
    "BillingMode",
    "ContributorInsightsSpecification",
    "DeletionProtectionEnabled",
    "KinesisStreamSpecification",
    "OnDemandThroughput",
    "PointInTimeRecoverySpecification",
    "ProvisionedThroughput",
    "ResourcePolicy",
    "SSESpecification",
    "TableClass",
    "Tags",
    "WarmThroughput",
];

impl Table {
    pub(super) fn read(logical_id: &str, resource: &Node<'_>) -> Result<Self, TemplateError> {
        let properties = resource.need("Properties")?;
        properties.only(&[READ.as_slice(), &SKIPPED].concat())?;

        let definitions = properties.need("AttributeDefinitions")?;
        let indexes = |property| match properties.get(property)? {
            Some(indexes) => indexes.items()?.iter().map(Index::read).collect(),
            None => Ok(Vec::new()),
        };
        let table = Self {
            logical_id: logical_id.to_owned(),
            name: properties.name("TableName", logical_id)?,
            key: KeySchema::read(&properties.need("KeySchema")?)?,
            attributes: definitions.items()?.iter().map(attribute).collect::<Result<_, _>>()?,
            indexes: indexes("GlobalSecondaryIndexes")?,
            local_indexes: indexes("LocalSecondaryIndexes")?,
            stream: stream(&properties)?,
            ttl: ttl(&properties)?,
        };
        // DynamoDB refuses a key without a type, and a type without a key.
        let keys = [&table.key].into_iter().chain(table.all_indexes().map(|index| &index.key));
        let keys: BTreeSet<_> = keys.flat_map(KeySchema::attributes).collect();
        let typed: BTreeSet<_> = table.attributes.keys().collect();
        match keys.symmetric_difference(&typed).next() {
            Some(attribute) => Err(definitions.error(Problem::KeyAttribute((*attribute).clone()))),
            None => Ok(table),
        }
    }

    /// The global secondary indexes, then the local ones.
    pub fn all_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().chain(&self.local_indexes)
    }
}

impl KeySchema {
    fn read(schema: &Node<'_>) -> Result<Self, TemplateError> {
        let element = |element: &Node<'_>, key_type: &'static str| {
            element.only(&["AttributeName", "KeyType"])?;
            element.need("KeyType")?.choice(&[(key_type, ())])?;
            element.need("AttributeName")?.text()
        };
        match schema.items()?.as_slice() {
            [hash] => Ok(Self { hash: element(hash, "HASH")?, range: None }),
            [hash, range] => Ok(Self { hash: element(hash, "HASH")?, range: Some(element(range, "RANGE")?) }),
            _ => Err(schema.unexpected("a HASH key, and after it a RANGE key or nothing")),
        }
    }

    /// The attributes of the key, the partition key first.
    pub fn attributes(&self) -> impl Iterator<Item = &String> {
        [&self.hash].into_iter().chain(&self.range)
    }
}

impl Index {
    fn read(index: &Node<'_>) -> Result<Self, TemplateError> {
        index.only(&[
            "ContributorInsightsSpecification",
            "IndexName",
            "KeySchema",
            "OnDemandThroughput",
            "Projection",
            "ProvisionedThroughput",
            "WarmThroughput",
        ])?;
        let projection = index.need("Projection")?;
        projection.only(&["NonKeyAttributes", "ProjectionType"])?;
        let kind = projection.need("ProjectionType")?;
        let included = projection.get("NonKeyAttributes")?;
        let projection = match (kind.text()?.as_str(), included) {
            ("ALL", None) => Projection::All,
            ("KEYS_ONLY", None) => Projection::KeysOnly,
            ("INCLUDE", Some(included)) => {
                Projection::Include(included.items()?.iter().map(Node::text).collect::<Result<_, _>>()?)
            }
            _ => return Err(kind.unexpected("ALL, KEYS_ONLY, or INCLUDE with NonKeyAttributes")),
        };
        Ok(Self {
            name: index.need("IndexName")?.text()?,
            key: KeySchema::read(&index.need("KeySchema")?)?,
            projection,
        })
    }
}

fn attribute(definition: &Node<'_>) -> Result<(String, AttributeType), TemplateError> {
    definition.only(&["AttributeName", "AttributeType"])?;
    let types = [("S", AttributeType::Text), ("N", AttributeType::Number), ("B", AttributeType::Binary)];
    let name = definition.need("AttributeName")?.text()?;
    Ok((name, definition.need("AttributeType")?.choice(&types)?))
}

fn stream(properties: &Node<'_>) -> Result<Option<StreamView>, TemplateError> {
    let Some(specification) = properties.get("StreamSpecification")? else {
        return Ok(None);
    };
    specification.only(&["ResourcePolicy", "StreamViewType"])?;
    let views = [
        ("KEYS_ONLY", StreamView::KeysOnly),
        ("NEW_IMAGE", StreamView::NewImage),
        ("OLD_IMAGE", StreamView::OldImage),
        ("NEW_AND_OLD_IMAGES", StreamView::NewAndOldImages),
    ];
    specification.need("StreamViewType")?.choice(&views).map(Some)
}

fn ttl(properties: &Node<'_>) -> Result<Option<String>, TemplateError> {
    let Some(specification) = properties.get("TimeToLiveSpecification")? else {
        return Ok(None);
    };
    specification.only(&["AttributeName", "Enabled"])?;
    let attribute = specification.need("AttributeName")?.text()?;
    Ok(specification.need("Enabled")?.flag()?.then_some(attribute))
}
