//! Read sets: the items that a decision depends on.

use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::entity::{Entity, Stored};
use crate::item::{Corrupt, Item, Place, from_item};

mod sealed {
    pub trait Sealed {}
}

/// The items that were found, by place.
#[derive(Debug, Default)]
pub struct FoundItems(pub HashMap<Place, Item>);

/// An item that a read set asks for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Where it is.
    pub place: Place,
    /// Whether the first attempt assumes that it is absent instead of reading it.
    pub assumed_absent: bool,
}

/// The items that a decision depends on: [`Get`], and tuples, options, vectors and maps of read sets.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a read set",
    note = "use `Get<E>`, or tuples, `Option`, `Vec`, `BTreeMap` of it"
)]
pub trait ReadSet: sealed::Sealed + Send {
    /// What the decision receives.
    type Output;

    /// Lists the items.
    #[doc(hidden)]
    fn wanted(&self, into: &mut Vec<Wanted>);

    /// Reads the items that were found.
    #[doc(hidden)]
    fn output(&self, found: &FoundItems) -> Result<Self::Output, Corrupt>;
}

/// Reads one entity.
pub struct Get<E> {
    place: Place,
    assumed_absent: bool,
    of: PhantomData<fn() -> E>,
}

/// Reads the entity with this id.
pub fn get<E: Entity>(id: E::Id<'_>) -> Get<E> {
    Get { place: E::place(id), assumed_absent: false, of: PhantomData }
}

impl<E> Get<E> {
    /// Starts with the write instead of a read, assuming that the entity does not exist yet. If it does, the failed
    /// write returns it and the command decides again.
    ///
    /// A decision that refuses, or that does not create the entity, reads it first after all.
    #[must_use]
    pub fn assume_absent(mut self) -> Self {
        self.assumed_absent = true;
        self
    }
}

impl<E> std::fmt::Debug for Get<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Get").field("place", &self.place).field("assumed_absent", &self.assumed_absent).finish()
    }
}

impl<E> sealed::Sealed for Get<E> {}

impl<E: Entity> ReadSet for Get<E> {
    type Output = Option<Stored<E>>;

    fn wanted(&self, into: &mut Vec<Wanted>) {
        into.push(Wanted { place: self.place.clone(), assumed_absent: self.assumed_absent });
    }

    fn output(&self, found: &FoundItems) -> Result<Self::Output, Corrupt> {
        found.0.get(&self.place).cloned().map(Stored::from_item).transpose()
    }
}

impl<R> sealed::Sealed for Option<R> {}

impl<R: ReadSet> ReadSet for Option<R> {
    type Output = Option<R::Output>;

    fn wanted(&self, into: &mut Vec<Wanted>) {
        if let Some(one) = self {
            one.wanted(into);
        }
    }

    fn output(&self, found: &FoundItems) -> Result<Self::Output, Corrupt> {
        self.as_ref().map(|one| one.output(found)).transpose()
    }
}

impl<R> sealed::Sealed for Vec<R> {}

impl<R: ReadSet> ReadSet for Vec<R> {
    type Output = Vec<R::Output>;

    fn wanted(&self, into: &mut Vec<Wanted>) {
        for one in self {
            one.wanted(into);
        }
    }

    fn output(&self, found: &FoundItems) -> Result<Self::Output, Corrupt> {
        self.iter().map(|one| one.output(found)).collect()
    }
}

impl<K, R> sealed::Sealed for BTreeMap<K, R> {}

impl<K: Ord + Clone + Send, R: ReadSet> ReadSet for BTreeMap<K, R> {
    type Output = BTreeMap<K, R::Output>;

    fn wanted(&self, into: &mut Vec<Wanted>) {
        for one in self.values() {
            one.wanted(into);
        }
    }

    fn output(&self, found: &FoundItems) -> Result<Self::Output, Corrupt> {
        self.iter().map(|(key, one)| Ok((key.clone(), one.output(found)?))).collect()
    }
}

/// Reads one item of a table that is not an entity's. The application parses it.
#[derive(Debug, Clone)]
pub struct GetItem(Place);

impl Place {
    /// Reads the item at this place as it is.
    pub fn read(self) -> GetItem {
        GetItem(self)
    }
}

impl sealed::Sealed for GetItem {}

impl ReadSet for GetItem {
    type Output = Option<Item>;

    fn wanted(&self, into: &mut Vec<Wanted>) {
        into.push(Wanted { place: self.0.clone(), assumed_absent: false });
    }

    fn output(&self, found: &FoundItems) -> Result<Self::Output, Corrupt> {
        Ok(found.0.get(&self.0).cloned())
    }
}

/// Reads one item of a table that is not an entity's, as this type.
#[derive(Debug)]
pub struct GetRow<T> {
    place: Place,
    of: PhantomData<fn() -> T>,
}

impl Place {
    /// Reads the item at this place as this type.
    pub fn read_as<T: DeserializeOwned>(self) -> GetRow<T> {
        GetRow { place: self, of: PhantomData }
    }
}

impl<T> sealed::Sealed for GetRow<T> {}

impl<T: DeserializeOwned> ReadSet for GetRow<T> {
    type Output = Option<T>;

    fn wanted(&self, into: &mut Vec<Wanted>) {
        into.push(Wanted { place: self.place.clone(), assumed_absent: false });
    }

    fn output(&self, found: &FoundItems) -> Result<Self::Output, Corrupt> {
        found.0.get(&self.place).map(|item| from_item(self.place.table.name, item.clone())).transpose()
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name),*> sealed::Sealed for ($($name,)*) {}

        #[allow(non_snake_case, unused_variables, clippy::unused_unit)]
        impl<$($name: ReadSet),*> ReadSet for ($($name,)*) {
            type Output = ($($name::Output,)*);

            fn wanted(&self, into: &mut Vec<Wanted>) {
                let ($($name,)*) = self;
                $($name.wanted(into);)*
            }

            fn output(&self, found: &FoundItems) -> Result<Self::Output, Corrupt> {
                let ($($name,)*) = self;
                Ok(($($name.output(found)?,)*))
            }
        }
    )*};
}

tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }
