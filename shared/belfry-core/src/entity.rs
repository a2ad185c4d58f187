//! Entities: versioned items, and the attributes that a release does not know.

use std::collections::HashMap;
use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::item::{AttributeValue, Corrupt, Item, Key, Place, Table, Unwritable, from_item, text_of, to_item};
use crate::read::{Get, get};

/// The attribute that holds an entity's version.
pub const VERSION: &str = "version";

/// The attribute that names the execution that last wrote an item without an idempotency key or a processed mark.
pub const WRITTEN_BY: &str = "written_by";

/// A type that is stored as one versioned item. Its serialized fields are the item's attributes; the version is the
/// kernel's.
pub trait Entity: Serialize + DeserializeOwned {
    /// The table that holds it.
    const TABLE: Table;

    /// The aggregate type that its events name.
    const KIND: &'static str = Self::TABLE.name;

    /// A borrowed id, for example `&'a str` or `(&'a UserId, &'a Sku)`.
    type Id<'a>;

    /// The key of the entity with this id.
    fn key(id: Self::Id<'_>) -> Key;

    /// The id of this entity. A revision of an entity must keep it.
    fn id(&self) -> Self::Id<'_>;

    /// Attributes besides the serialized fields, for example index keys. They are computed at each write; one that is
    /// left out is removed.
    fn index_attributes(&self) -> Item {
        Item::new()
    }

    /// The names that [`index_attributes`](Self::index_attributes) may return. They are never mistaken for attributes of
    /// a newer release.
    const INDEX_ATTRIBUTES: &'static [&'static str] = &[];

    /// Reads the entity with this id.
    fn by_id(id: Self::Id<'_>) -> Get<Self> {
        get(id)
    }

    /// The place of the entity with this id.
    fn place(id: Self::Id<'_>) -> Place {
        Self::TABLE.at(Self::key(id))
    }
}

pub(crate) fn place_of<E: Entity>(entity: &E) -> Place {
    E::place(entity.id())
}

/// An entity as it was read: the value, its version, and the attributes that this release does not know.
///
/// Unknown attributes are written back by the next [`Revision`], so that an old release never erases what a newer one
/// stored.
#[derive(Debug, Clone)]
pub struct Stored<E> {
    entity: E,
    version: u64,
    unknown: Unknown,
}

impl<E> Deref for Stored<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.entity
    }
}

impl<E> Stored<E> {
    /// The version that was read.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The value alone.
    pub fn into_inner(self) -> E {
        self.entity
    }

    /// An entity as if it had been read at this version, for tests of decisions.
    pub fn at(version: u64, entity: E) -> Self {
        Self { entity, version, unknown: Unknown::default() }
    }
}

impl<E: Entity> Stored<E> {
    /// The next revision of this entity.
    pub fn becomes(&self, after: E) -> Revision<E> {
        Revision::of(Some(self), after)
    }

    /// Reads an item.
    pub fn from_item(item: Item) -> Result<Self, Corrupt> {
        let corrupt = |problem: &str| Corrupt { table: E::TABLE.name.to_owned(), problem: problem.to_owned() };
        let version = text_of(&item, VERSION).ok_or_else(|| corrupt("missing field `version`"))?;
        let version = version.parse().map_err(|_| corrupt("version is not a number"))?;
        let entity: E = from_item(E::TABLE.name, item.clone())?;
        let mut known = to_item(&entity).map_err(|error| corrupt(&error.0))?;
        known.extend(entity.index_attributes());
        known.extend(place_of(&entity).attributes());
        let own = [VERSION, WRITTEN_BY].iter().chain(E::INDEX_ATTRIBUTES);
        known.extend(own.map(|name| ((*name).to_owned(), AttributeValue::Null(true))));
        Ok(Self { entity, version, unknown: Unknown::of(item, &known) })
    }
}

/// An entity as it will be written, with the version it will have.
#[derive(Debug, Clone)]
pub struct Revision<E> {
    entity: E,
    before: u64,
    unknown: Unknown,
    key_changed: bool,
}

impl<E> Deref for Revision<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.entity
    }
}

impl<E> Revision<E> {
    /// The version that the entity will have.
    pub fn version(&self) -> u64 {
        self.before + 1
    }

    /// The value alone.
    pub fn into_inner(self) -> E {
        self.entity
    }

    /// The entity as it is stored once this revision is written, for further changes without another read.
    pub fn written(self) -> Stored<E> {
        Stored { version: self.version(), entity: self.entity, unknown: self.unknown }
    }

    /// The version that the write depends on; `None` if the entity must be absent.
    pub(crate) fn before(&self) -> Option<u64> {
        (self.before > 0).then_some(self.before)
    }
}

impl<E: Entity> Revision<E> {
    /// The first revision of a new entity.
    pub fn new(entity: E) -> Self {
        Self::of(None, entity)
    }

    /// The next revision of `before`, or the first one if `before` is `None`.
    pub fn of(before: Option<&Stored<E>>, after: E) -> Self {
        let key_changed = before.is_some_and(|before| place_of::<E>(before) != place_of(&after));
        let (version, unknown) =
            before.map_or((0, Unknown::default()), |before| (before.version, before.unknown.clone()));
        Self { entity: after, before: version, unknown, key_changed }
    }

    pub(crate) fn item(&self) -> Result<Item, Unwritable> {
        if self.key_changed {
            let place = place_of::<E>(&self.entity);
            return Err(Unwritable(format!("{place} is a revision of an entity with another key")));
        }
        let mut item = to_item(&self.entity)?;
        item.extend(place_of::<E>(&self.entity).attributes());
        item.extend(self.entity.index_attributes());
        self.unknown.add_to(&mut item);
        item.insert(VERSION.to_owned(), AttributeValue::N(self.version().to_string()));
        Ok(item)
    }
}

/// Attributes that this release does not know, those in nested maps included.
#[derive(Debug, Clone, Default)]
struct Unknown(HashMap<String, UnknownPart>);

#[derive(Debug, Clone)]
enum UnknownPart {
    Value(AttributeValue),
    Inside(Unknown),
}

impl Unknown {
    fn of(item: Item, known: &Item) -> Self {
        let part = |(name, value): (String, AttributeValue)| match (known.get(&name), value) {
            (None, value) => Some((name, UnknownPart::Value(value))),
            (Some(AttributeValue::M(known)), AttributeValue::M(found)) => {
                let inside = Self::of(found, known);
                (!inside.0.is_empty()).then_some((name, UnknownPart::Inside(inside)))
            }
            _ => None,
        };
        Self(item.into_iter().filter_map(part).collect())
    }

    /// Known attributes win. An unknown attribute in a nested map is kept only while the map exists.
    fn add_to(&self, item: &mut Item) {
        for (name, part) in &self.0 {
            match (part, item.get_mut(name)) {
                (UnknownPart::Value(value), None) => {
                    item.insert(name.clone(), value.clone());
                }
                (UnknownPart::Inside(unknown), Some(AttributeValue::M(map))) => unknown.add_to(map),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::item::{number, text};

    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Copy {
        shelf_mark: String,
        reader: String,
        shelf: Shelf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Shelf {
        room: String,
    }

    crate::entity!(Copy in "copies" by shelf_mark);

    fn item() -> Item {
        let shelf =
            Item::from([("room".to_owned(), text("1")), ("row".to_owned(), AttributeValue::Ns(vec!["7".to_owned()]))]);
        [
            ("shelf_mark", text("QA76")),
            ("reader", text("ada")),
            ("note", text("torn")),
            ("shelf", AttributeValue::M(shelf)),
            ("version", number(7)),
            ("digits", number("12345678901234567890123456789012345678")),
            ("tags", AttributeValue::Ss(vec!["x".to_owned()])),
            ("cover", AttributeValue::B(vec![0, 255])),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }

    #[test]
    fn unknown_attributes_survive_a_revision() {
        let stored = Stored::<Copy>::from_item(item()).expect("a copy");
        let revision = stored.becomes(Copy { reader: "bruno".to_owned(), note: None, ..Copy::clone(&stored) });
        let written = revision.item().expect("an item");
        let mut expected = item();
        expected.remove("note");
        expected.insert("reader".to_owned(), text("bruno"));
        expected.insert("version".to_owned(), number(8));
        assert_eq!(written, expected);
    }

    #[test]
    fn a_revision_cannot_change_the_key() {
        let stored = Stored::<Copy>::from_item(item()).expect("a copy");
        let moved = stored.becomes(Copy { shelf_mark: "QA77".to_owned(), ..Copy::clone(&stored) });
        assert!(moved.item().expect_err("refused").to_string().contains("copies QA77"));
    }

    #[test]
    fn an_item_without_a_version_is_corrupt() {
        let mut item = item();
        item.remove("version");
        assert_eq!(Stored::<Copy>::from_item(item).expect_err("corrupt").problem, "missing field `version`");
    }
}
