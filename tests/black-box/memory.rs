//! A store in memory for models of decisions: it runs commands as the kernel does, and checks the conditions of what they
//! write.

use std::collections::HashMap;

use belfry_core::commit::{Action, Condition, Expression};
use belfry_core::item::{AttributeValue, Item, Place, number, text_of};
use belfry_core::{Command, Commit, Context, Entity, Event, FoundItems, ReadSet, Revision, Stored, VERSION};

/// Items of any tables.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    items: HashMap<Place, Item>,
}

impl Memory {
    /// An entity, as it is stored.
    pub fn get<E: Entity>(&self, id: E::Id<'_>) -> Option<Stored<E>> {
        self.items.get(&E::place(id)).map(|item| Stored::from_item(item.clone()).expect("a readable item"))
    }

    /// Stores an entity at a version, whatever is there.
    pub fn insert<E: Entity + Clone>(&mut self, version: u64, entity: E) {
        let before = Stored::at(version - 1, entity.clone());
        let commit = Context::begin().commit().put(&Revision::of(Some(&before), entity));
        let Action::Put(item) = &commit.writes()[0].action else { panic!("not a put") };
        self.items.insert(commit.writes()[0].place.clone(), item.clone());
    }

    /// What a command decides, given what is stored.
    pub fn decide<C: Command>(&self, command: &C, ctx: &Context) -> Result<Commit<C::Output>, C::Refusal> {
        let mut wanted = Vec::new();
        command.reads().wanted(&mut wanted);
        let found = wanted.into_iter().filter_map(|wanted| {
            let item = self.items.get(&wanted.place)?.clone();
            Some((wanted.place, item))
        });
        let found = FoundItems(found.collect());
        command.decide(command.reads().output(&found).expect("readable items"), ctx)
    }

    /// Writes everything, if all conditions hold, and returns the events; or nothing.
    pub fn commit<T>(&mut self, commit: &Commit<T>, ctx: &Context) -> Option<Vec<Event>> {
        if !commit.writes().iter().all(|write| self.holds(&write.place, &write.condition, &write.action)) {
            return None;
        }
        for write in commit.writes() {
            match &write.action {
                Action::Put(item) => drop(self.items.insert(write.place.clone(), item.clone())),
                Action::Update(update) => change(self.items.get_mut(&write.place).expect("an item"), update),
                Action::Delete => drop(self.items.remove(&write.place)),
                Action::Check => {}
            }
        }
        let events = commit.events().iter().cloned();
        Some(events.map(|event| event.stamped(ctx, None).expect("an event")).collect())
    }

    fn holds(&self, place: &Place, condition: &Condition, action: &Action) -> bool {
        let item = self.items.get(place);
        match condition {
            Condition::Always => true,
            Condition::Absent => item.is_none(),
            Condition::Version(version) => item.is_some_and(|item| amount(item, VERSION) == i128::from(*version)),
            Condition::Expression(condition) => {
                let mut values: HashMap<&str, &AttributeValue> = HashMap::new();
                if let Action::Update(update) = action {
                    values.extend(update.values.iter().map(|(name, value)| (name.as_str(), value)));
                }
                values.extend(condition.values.iter().map(|(name, value)| (name.as_str(), value)));
                condition.text.split(" AND ").all(|term| item.is_some_and(|item| term_holds(item, term, &values)))
            }
        }
    }
}

/// A term of a condition, of the forms that a `Change` has.
fn term_holds(item: &Item, term: &str, values: &HashMap<&str, &AttributeValue>) -> bool {
    if let Some(name) = term.strip_prefix("attribute_exists(#").and_then(|rest| rest.strip_suffix(')')) {
        return item.contains_key(name);
    }
    let words: Vec<&str> = term.split(' ').collect();
    let [name, comparison, value] = words[..] else { panic!("unknown term: {term}") };
    let (name, value) = (name.trim_start_matches('#'), values[value]);
    match comparison {
        "=" => item.get(name) == Some(value),
        ">=" => amount(item, name) >= of_number(value),
        _ => panic!("unknown comparison: {term}"),
    }
}

/// An update, of the forms that a `Change` has: `#a = :v` and `#a = #a + :v`.
fn change(item: &mut Item, update: &Expression) {
    let values: HashMap<&str, &AttributeValue> =
        update.values.iter().map(|(name, value)| (name.as_str(), value)).collect();
    for set in update.text.strip_prefix("SET ").expect("a SET").split(", ") {
        let words: Vec<&str> = set.split(' ').collect();
        let name = words[0].trim_start_matches('#').to_owned();
        let value = match words[1..] {
            ["=", value] => values[value].clone(),
            ["=", same, "+", value] if same == words[0] => number(amount(item, &name) + of_number(values[value])),
            _ => panic!("unknown change: {set}"),
        };
        item.insert(name, value);
    }
}

fn amount(item: &Item, name: &str) -> i128 {
    text_of(item, name).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no number in {name}"))
}

fn of_number(value: &AttributeValue) -> i128 {
    let AttributeValue::N(number) = value else { panic!("not a number: {value:?}") };
    number.parse().expect("a number")
}
